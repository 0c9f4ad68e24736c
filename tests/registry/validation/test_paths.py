import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.errors import Invalid
from registry.validation.paths import check_once, check_path, check_together


@pytest.mark.parametrize(
    "path",
    [
        "model.onnx",
        ".gitattributes",
        "a/b/c.txt",
        "日本/モデル.onnx",
        "a b",
        "..a/b..",
        "gitlab/.github",
    ],
)
def test_a_plain_path_is_taken(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("../model.onnx", "'..'"),
        ("a/../../b", "'..'"),
        ("./a", "'.'"),
        ("a//b", "'//'"),
        ("a/", "ends in '/'"),
        ("a\\b", "backslash"),
        ("C:\\windows", "backslash"),
        ("a\nb", "control character"),
        ("a\0b", "control character"),
        ("a\x7f", "control character"),
        ("a\u200bb", "invisible"),
        ("a\u202eb", "invisible"),
        ("a\ud800", "control character"),
        ("x" * 1025, "1024 bytes"),
        ("é" * 513, "1024 bytes"),
        ("x" * 256, "255 bytes"),
        (".git/config", "git's own folder"),
        ("a/.GIT/x", "git's own folder"),
        (".git./x", "git's own folder"),
        ("git~1/x", "git's own folder"),
    ],
)
def test_a_dangerous_path_is_refused_and_told_why(path: str, why: str) -> None:
    with pytest.raises(Invalid, match="is not a valid file path") as caught:
        check_path(path)
    assert caught.value.code == "invalid_path"
    assert why in caught.value.detail


@given(st.text(max_size=40))
def test_what_is_taken_stays_inside_its_folder(path: str) -> None:
    try:
        check_path(path)
    except Invalid:
        return
    parts = path.split("/")
    assert all(part not in {"", ".", "..", ".git"} for part in parts)
    assert "\0" not in path
    assert len(path.encode()) <= 1024


@pytest.mark.parametrize(
    "paths",
    [["README.md", "readme.md"], ["A/x", "a/y"], ["stra\u00dfe", "STRASSE"], ["e\u0301", "\u00e9"]],
)
def test_paths_that_some_file_systems_confuse_are_refused(paths: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        check_together(paths)
    assert caught.value.code == "case_collision"


def test_a_file_cannot_also_be_a_folder() -> None:
    with pytest.raises(Invalid) as caught:
        check_together(["a", "a/b"])
    assert caught.value.code == "invalid_path"


def test_different_paths_live_together() -> None:
    check_together(["a/b", "a/c", "ab", "b/a"])
    check_once(["a/b", "a/c"])


def test_a_path_given_twice_is_refused() -> None:
    with pytest.raises(Invalid) as caught:
        check_once(["a", "b", "a"])
    assert caught.value.code == "duplicate_path"
