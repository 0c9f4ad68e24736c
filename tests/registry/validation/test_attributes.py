"""Our reading of .gitattributes against git's own."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.validation.attributes import DEFAULT, LARGE_BYTES, lfs_rule
from tests.programs import needs


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", ".")
    return tmp_path


def git(folder: Path, *arguments: str, text: str = "") -> str:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        ["git", *arguments],
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    ).stdout


def gits_answer(folder: Path, attributes: bytes, paths: list[str]) -> dict[str, bool]:
    (folder / ".gitattributes").write_bytes(attributes)
    fields = git(folder, "check-attr", "-z", "--stdin", "filter", text="\0".join(paths)).split("\0")
    return {path: value == "lfs" for path, value in zip(fields[::3], fields[2::3], strict=False)}


@needs("git")
def test_the_patterns_a_new_model_starts_with_mean_what_git_says(repository: Path) -> None:
    paths = [
        *("model.onnx", "deep/er/model.onnx", "model.onnx.txt", "README.md", ".gitattributes"),
        *("saved_model/a", "saved_model/a/b/c", "x/saved_model/a", "weights.tar.gz", "a.lfs.b"),
        *("events.tfevents.1", "tokenizer.json", "pytorch_model.bin", "MODEL.ONNX", "onnx"),
    ]
    expected = gits_answer(repository, DEFAULT, paths)
    is_large = lfs_rule(DEFAULT)
    assert {path: is_large(path, 1) for path in paths} == expected
    assert True in expected.values()
    assert False in expected.values()


# Two patterns git and we read differently are left out: character classes by name, and "**" glued
# to other characters.
segment = st.sampled_from(["*", "a", "b", "a*", "*b", "?", "[ab]", "[!a]", "[^b]", "**", r"\*"])
pattern = st.tuples(
    st.sampled_from(["", "/"]), st.lists(segment, min_size=1, max_size=4).map("/".join)
).map("".join)
line = st.tuples(
    pattern, st.sampled_from(["filter=lfs", "-filter", "filter=other", "text filter=lfs", "text"])
).map(" ".join)
path = st.lists(st.sampled_from(["a", "b", "ab", "*"]), min_size=1, max_size=4).map("/".join)


@needs("git")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lines=st.lists(line, max_size=4), paths=st.lists(path, min_size=1, max_size=8, unique=True))
def test_any_patterns_mean_what_git_says(
    repository: Path, lines: list[str], paths: list[str]
) -> None:
    attributes = "\n".join(lines).encode()
    is_large = lfs_rule(attributes)
    assert {p: is_large(p, 1) for p in paths} == gits_answer(repository, attributes, paths)


def test_comments_macros_and_quoted_names_are_understood() -> None:
    is_large = lfs_rule(b'# *.a filter=lfs\n[attr]x filter=lfs\n"with space" filter=lfs\nlonely\n')
    assert is_large("with space", 1)
    assert not is_large("x.a", 1)
    assert not is_large("x", 1)


def test_a_file_beyond_ten_megabytes_is_large_whatever_it_is_called() -> None:
    is_large = lfs_rule(b"")
    assert not is_large("notes.txt", LARGE_BYTES)
    assert is_large("notes.txt", LARGE_BYTES + 1)


def test_an_empty_file_is_never_large() -> None:
    assert not lfs_rule(DEFAULT)("model.onnx", 0)


def test_a_pattern_made_to_take_forever_takes_no_time() -> None:
    is_large = lfs_rule(b"**/" * 100 + b"*a" * 60 + b"/b filter=lfs\n")
    assert not is_large("/".join(["a" * 200] * 60), 1)
