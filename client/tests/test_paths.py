"""No name from a server leads out of the folder it is meant for."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpcfair.errors import BadInput, UnsafePath
from hpcfair.paths import checked_name, checked_sha256, safe_join

ROOT = Path("/cache/files")
PARTS = st.lists(
    st.one_of(st.sampled_from(["..", ".", "", "a", "b.onnx", "\\", "C:", "\0", "/etc"]), st.text()),
    max_size=5,
)


@settings(deadline=None)
@given(PARTS)
def test_a_joined_path_stays_inside_whatever_the_name(parts: list[str]) -> None:
    try:
        joined = safe_join(ROOT, "/".join(parts))
    except UnsafePath:
        return

    assert joined != ROOT
    assert joined.resolve().is_relative_to(ROOT)
    assert ".." not in joined.parts


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        "../escape",
        "a/../../escape",
        "a/./b",
        "a//b",
        "a\\b",
        "C:/windows",
        "line\nbreak",
        "nul\0byte",
        "tab\there",
        "sub/AUX.onnx",
        "\ud800",
        "x" * 1025,
    ],
)
def test_a_name_that_leads_astray_is_refused(path: str) -> None:
    with pytest.raises(UnsafePath):
        safe_join(ROOT, path)


@pytest.mark.parametrize("path", ["model.onnx", ".gitattributes", "a/b c/ü.bin", "..data", "a..b"])
def test_an_ordinary_name_is_joined(path: str) -> None:
    assert safe_join(ROOT, path) == ROOT / path


@pytest.mark.parametrize("digest", ["", "AB" * 32, "ab" * 31, "../" + "ab" * 32, "ab" * 32 + "\n"])
def test_what_is_no_digest_never_becomes_a_file_name(digest: str) -> None:
    with pytest.raises(UnsafePath):
        checked_sha256(digest)


@pytest.mark.parametrize("name", ["lab", "lab/", "/cnn", "a/b/c", "../x", "a/..", "a b/c", "a/b?c"])
def test_what_is_no_models_name_is_refused(name: str) -> None:
    with pytest.raises(BadInput):
        checked_name(name)
