"""Which paths .gitignore keeps out; git itself is the judge."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.validation.ignore import MAX_IGNORE_BYTES, MAX_LINES, ignore_rule
from tests.programs import needs

PATHS = [
    *("a", "b", "a.log", "x/a", "x/a.log", "x/y/a", "x/y/z/a.log", "build/a", "x/build/a"),
    *("build", "x/build", "!b", "#c", "a b", "a ", "[x]", "x/y/b.txt", "doc/frotz", "a/doc/frotz"),
]
TEXTS = [
    *("*.log", "a", "/a", "x/a", "x/", "/x/", "build/", "**/a", "x/**", "x/**/a", "**", "*", "/*"),
    *("*\n!a.log", "x/\n!x/a", "*.log\n!x/*.log", "\\!b", "\\#c", "# a", "a\\ ", "a ", "\\[x\\]"),
    *("[xy]/a", "x/[!y]*", "x/[^y]*", "?", "doc/frotz/", "x/*/a", "a\n!a\na", "!a", "/", "", "  "),
    *("/**/a", "x/**/**/a", "**/build/", "b*d", "\\a", "x/y/", "[a-b]", "**/*.log\n!**/a.log"),
]
pieces = st.sampled_from(["a", "b", "x", "y", "*", "**", "/", "?", ".log", "!", "\\", "[ab]", "\n"])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty repository."""
    path = tmp_path_factory.mktemp("ignored")
    subprocess.run(["git", "init", "-q", path], check=True)
    return path


def ignored_by_git(repository: Path, text: str) -> set[str]:
    """Those of :data:`PATHS` that git ignores."""
    (repository / ".gitignore").write_text(text)
    done = subprocess.run(
        ["git", "-C", repository, "check-ignore", "--no-index", "-z", "--stdin"],
        input="\0".join(PATHS).encode(),
        capture_output=True,
        check=False,
    )
    assert done.returncode in {0, 1}, done.stderr
    return set(filter(None, done.stdout.decode().split("\0")))


@needs("git")
@pytest.mark.parametrize("text", TEXTS, ids=repr)
def test_as_git_does(repository: Path, text: str) -> None:
    assert set(filter(ignore_rule(text), PATHS)) == ignored_by_git(repository, text)


@needs("git")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(pieces, max_size=8).map("".join))
def test_as_git_does_whatever_is_written(repository: Path, text: str) -> None:
    # Git's manual calls such asterisks and slashes ordinary, its code does not always.
    assume(not re.search(r"[^/\n!]\*\*|\*\*[^/\n]|(?:^|\n)!?\\/", text))
    assert set(filter(ignore_rule(text), PATHS)) == ignored_by_git(repository, text)


def test_a_pattern_made_to_take_long_does_not() -> None:
    began = time.thread_time()
    ignored = ignore_rule("*a" * 100 + "b\n" + "**/a/" * 100 + "b\n" + " " * 60_000 + "x")
    assert not any(ignored("/".join(["a" * 200] * 5)) for _ in range(10))
    assert time.thread_time() - began < 2


@pytest.mark.parametrize("text", ["a\n" * (MAX_LINES + 1), "#" * (MAX_IGNORE_BYTES + 1)])
def test_a_huge_one_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        ignore_rule(text)
