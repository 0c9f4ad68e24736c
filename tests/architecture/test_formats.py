"""Formats are named once, in ``hpcfair.formats``; other tables refer to them by name."""

from hpcfair.formats import FORMATS
from workers.backends.registry import BACKENDS
from workers.inspection.alternative_formats import READERS

NAMES = {each.name for each in FORMATS}


def test_backends_ask_for_formats_of_the_table() -> None:
    assert {name for entry in BACKENDS.values() for name in entry.formats} <= NAMES


def test_each_format_that_a_backend_asks_for_has_a_reader_or_is_onnx() -> None:
    readable = {file_format.name for file_format, _, _ in READERS} | {"onnx"}
    assert {name for entry in BACKENDS.values() for name in entry.formats} <= readable
