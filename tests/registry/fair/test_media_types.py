"""Types of files: true where they are harmless, unknown where a browser could run them."""

import pytest

from registry.fair.media_types import UNKNOWN, known_type_of, media_type_of


@pytest.mark.parametrize(
    ("path", "media_type"),
    [
        ("README.md", "text/markdown; charset=utf-8"),
        ("deep/er/CONFIG.JSON", "application/json"),
        ("LICENSE", "text/plain; charset=utf-8"),
        (".gitattributes", "text/plain; charset=utf-8"),
        ("samples.npz", "application/zip"),
        ("data.tar.gz", "application/gzip"),
    ],
)
def test_a_harmless_file_is_what_its_name_says(path: str, media_type: str) -> None:
    assert known_type_of(path) == media_type_of(path) == media_type


@pytest.mark.parametrize(
    "path",
    ["a.html", "a.HTM", "a.xhtml", "a.svg", "a.xml", "a.js", "a.mjs", "a.pdf", "a.md.html", "a",
     "model.onnx", "weights.safetensors", "license.html", ".json", ""],
)  # fmt: skip
def test_what_could_run_script_and_what_nobody_knows_is_of_unknown_type(path: str) -> None:
    assert known_type_of(path) is None
    assert media_type_of(path) == UNKNOWN
