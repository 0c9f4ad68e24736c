"""What a file's path tells of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.fair.files import is_open, media_type, role


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("README.md", "text/markdown"),
        ("deep/er/Data.CSV", "text/csv"),
        ("config.json", "application/json"),
        (".gitattributes", "text/plain"),
        ("LICENSE", "text/plain"),
        ("licence-weights.txt", "text/plain"),
        ("CITATION.cff", "application/yaml"),
        ("model.onnx", "application/octet-stream"),
        ("notice-net.onnx", "application/octet-stream"),
        ("no_extension", "application/octet-stream"),
    ],
)
def test_types_are_those_of_the_content(path: str, expected: str) -> None:
    assert media_type(path) == expected


@pytest.mark.parametrize(
    "path", ["a.html", "a.htm", "a.xhtml", "a.svg", "a.svgz", "a.xml", "a.xsl", "a.js", "a.mjs",
             "a.swf", "a.mht", "a.HTML", "README.html", "LICENSE.html", "LICENSE.svg"]
)  # fmt: skip
def test_what_could_run_in_a_browser_is_named_as_nothing(path: str) -> None:
    assert media_type(path) == "application/octet-stream"


@given(st.text(st.characters(exclude_characters="/"), min_size=1))
def test_no_path_gets_a_type_that_browsers_run(name: str) -> None:
    given_type = media_type(f"folder/{name}")
    assert not any(word in given_type for word in ("html", "xml", "svg", "script"))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("README.md", "card"),
        ("docs/README.md", "other"),
        ("requirements.txt", "environment"),
        ("uv.lock", "environment"),
        ("docs/requirements.txt", "other"),
        ("LICENSE", "licence"),
        ("LICENCE-data.md", "licence"),
        ("config.json", "config"),
        ("tokenizer_config.json", "config"),
        ("deep/config.json", "other"),
        ("model.onnx", "model"),
        ("onnx/model.onnx_data", "weights"),
        ("model.safetensors", "weights"),
        ("samples.npz", "samples"),
        ("test_data_set_0/input_0.pb", "tests"),
        ("notes.txt", "other"),
    ],
)
def test_roles_are_told_by_place_and_name(path: str, expected: str) -> None:
    assert role(path) == expected


def test_behind_a_gate_card_settings_and_licence_stay_open() -> None:
    assert [path for path in ("README.md", "config.json", "LICENSE") if not is_open(path)] == []
    assert not any(map(is_open, ("model.onnx", "samples.npz", "notes.txt", "docs/README.md")))
