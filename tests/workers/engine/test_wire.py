"""Messages arrive as they were sent; anything else is refused, never half understood."""

import json
import struct
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from hpcfair.isolation import wire
from workers.engine.ports import Array


def receive(data: bytes, piece: int = 2**20, max_bytes: int = wire.MAX_BYTES) -> Any:
    """What a worker makes of bytes that arrive in pieces."""
    decoder = wire.Decoder(max_bytes)
    while True:
        part, data = data[: min(piece, decoder.missing)], data[min(piece, decoder.missing) :]
        if not part:
            raise EOFError
        if decoder.feed(part):
            return decoder.value()


def sent(value: Any) -> bytes:
    return b"".join(wire.encode(value))


def message(head: Any, *buffers: bytes) -> bytes:
    text = json.dumps(head).encode()
    return struct.pack(">Q", len(text)) + text + b"".join(buffers)


keys = st.text().filter(lambda key: key != "$array")
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
    max_leaves=10,
)
arrays = hnp.arrays(
    dtype=st.one_of(
        hnp.boolean_dtypes(),
        hnp.integer_dtypes(),
        hnp.unsigned_integer_dtypes(),
        hnp.floating_dtypes(sizes=(16, 32, 64)),
        hnp.unicode_string_dtypes(),
    ),
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_dims=3, max_side=4),
)


@given(value=plain, array=arrays, piece=st.integers(1, 50))
def test_values_and_arrays_arrive_as_sent(value: Any, array: Array, piece: int) -> None:
    got = receive(sent({"value": value, "arrays": [array, {"again": array}]}), piece)
    assert got["value"] == value
    for copy in (got["arrays"][0], got["arrays"][1]["again"]):
        assert copy.dtype == array.dtype
        np.testing.assert_array_equal(copy, array)
        assert copy.flags.writeable


@given(data=st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_incomplete(data: bytes) -> None:
    with pytest.raises((wire.BadMessage, EOFError)):
        receive(data)


@given(array=arrays, at=st.integers(0), to=st.integers(0, 255))
def test_a_changed_byte_never_raises_anything_else(array: Array, at: int, to: int) -> None:
    data = bytearray(sent({"value": array}))
    data[8 + at % (len(data) - 8)] = to
    with suppress(wire.BadMessage, EOFError):
        receive(bytes(data))


def test_a_transposed_array_keeps_its_meaning() -> None:
    array = np.arange(6).reshape(2, 3).T
    np.testing.assert_array_equal(receive(sent(array)), array)


def test_text_in_object_arrays_arrives_as_text() -> None:
    got = receive(sent(np.array([["a", "bcd"]], dtype=object)))
    assert got.tolist() == [["a", "bcd"]]


@pytest.mark.parametrize(
    "value",
    [np.array([object()]), {1: "a"}, {"$array": 0}, object(), np.array(["2020"], "datetime64[Y]")],
    ids=["objects", "key", "reserved", "object", "dates"],
)
def test_what_cannot_cross_is_said_by_the_sender(value: Any) -> None:
    with pytest.raises(TypeError):
        wire.encode(value)


@pytest.mark.parametrize(
    ("described", "buffer"),
    [
        ({"$array": 0, "dtype": "<f4", "shape": [2]}, bytes(4)),
        ({"$array": 0, "dtype": "<f4", "shape": [-1]}, bytes(4)),
        ({"$array": 0, "dtype": "O", "shape": [1]}, bytes(8)),
        ({"$array": 0, "dtype": "no such type", "shape": [1]}, bytes(8)),
        ({"$array": 0, "dtype": "(2f4", "shape": [1]}, bytes(8)),
        ({"$array": 0, "dtype": {"names": ["a"]}, "shape": [1]}, bytes(8)),
        ({"$array": 7, "dtype": "<f4", "shape": [1]}, bytes(4)),
        ({"$array": 0, "dtype": "<f4", "shape": [True]}, bytes(4)),
        ({"$array": 0, "dtype": "<f4", "shape": 1}, bytes(4)),
        ({"$array": 0, "dtype": "<f4"}, bytes(4)),
        ({"$array": 0, "dtype": "<U1", "shape": [1]}, b"\xff\xff\xff\x7f"),
        # NumPy would make room for a character each.
        ({"$array": 0, "dtype": "<U0", "shape": [2**40]}, b""),
        ({"$array": 0, "dtype": "|S0", "shape": [2**40]}, b""),
        # Without elements, yet beyond what NumPy has.
        ({"$array": 0, "dtype": "<f4", "shape": [0, 2**62]}, b""),
        ({"$array": 0, "dtype": "<f4", "shape": [0, 2**70]}, b""),
        ({"$array": 0, "dtype": "<f4", "shape": [0] * 65}, b""),
    ],
)
def test_an_array_that_lies_about_itself_is_refused(
    described: dict[str, Any], buffer: bytes
) -> None:
    with pytest.raises(wire.BadMessage):
        receive(message({"body": described, "buffers": [len(buffer)]}, buffer))


def test_a_message_longer_than_allowed_is_refused_before_it_is_read() -> None:
    head = {"body": None, "buffers": [2**40]}
    with pytest.raises(wire.BadMessage, match="more than"):
        receive(message(head))
    with pytest.raises(wire.BadMessage, match="more than"):
        receive(sent(np.zeros(100)), max_bytes=799)


def test_a_buffer_belongs_to_one_array() -> None:
    array = {"$array": 0, "dtype": "<f4", "shape": [1]}
    with pytest.raises(wire.BadMessage, match="invalid array"):
        receive(message({"body": [array] * 1000, "buffers": [4]}, bytes(4)))


def test_a_shape_whose_product_takes_for_ever_is_refused_at_once() -> None:
    array = {"$array": 0, "dtype": "<f4", "shape": [2**62] * 500_000}
    with pytest.raises(wire.BadMessage, match="with the shape"):
        receive(message({"body": array, "buffers": [4]}, bytes(4)))


def test_the_number_of_buffers_is_bounded() -> None:
    with pytest.raises(wire.BadMessage, match="200000 buffers"):
        receive(message({"body": None, "buffers": [0] * 200_000}))


def test_a_deeply_nested_head_is_refused() -> None:
    deep = b"[" * 100_000
    with pytest.raises(wire.BadMessage):
        receive(struct.pack(">Q", len(deep)) + deep)
