"""The table of file formats."""

import pytest

from hpcfair.formats import (
    FORMATS,
    NETWORK_FORMATS,
    ONNX,
    ONNX_RUNTIME,
    TFLITE,
    format_of,
    opener_of,
)
from hpcfair.runtimes import registry


def test_each_format_has_a_name_and_suffixes_of_its_own() -> None:
    names = [each.name for each in FORMATS]
    suffixes = [suffix for each in FORMATS for suffix in each.suffixes]
    assert len(names) == len(set(names))
    assert len(suffixes) == len(set(suffixes))
    assert all(suffix == suffix.lower() and suffix[0] == "." for suffix in suffixes)


def test_what_opens_a_network_is_a_runtime_of_the_client() -> None:
    assert {each.opener.runtime for each in NETWORK_FORMATS if each.opener} <= set(
        registry.RUNTIMES
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [("a/Model.ONNX", "onnx"), ("m.tflite", "tflite"), ("m.gguf", "gguf"), ("m.xml", None)],
)
def test_a_suffix_tells_the_format_where_it_proves_one(path: str, name: str | None) -> None:
    file_format = format_of(path)
    assert (file_format and file_format.name) == name


def test_an_unknown_suffix_is_opened_as_onnx() -> None:
    assert opener_of("network.bin") is ONNX_RUNTIME
    assert opener_of("network.tflite") is TFLITE.opener


def test_first_bytes_tell_a_format_that_has_some() -> None:
    assert TFLITE.begins(b"\x1c\0\0\0TFL3....")
    assert not TFLITE.begins(b"\x1c\0\0\0ONNX....")
    assert not TFLITE.begins(b"")
    assert ONNX.begins(b"anything")


def test_a_label_may_ask_for_more_than_a_suffix() -> None:
    formats = {each.name: each for each in FORMATS}
    assert formats["pytorch"].is_labelled("a/pytorch_model-00001-of-00002.bin")
    assert not formats["keras"].is_labelled("weights.h5")
    assert not formats["ort"].is_labelled("model.ort")
