"""Tensors of TensorFlow Lite files (FlatBuffers).

::

    place of the model: u32  "TFL3"
    table    place - i32 is its vtable: bytes u16, bytes of the table u16, offset of each field u16
    vector   values: u32, then the values; references are u32, relative to where they stand

Source: https://github.com/google-ai-edge/LiteRT/blob/main/tflite/converter/schema/schema.fbs
"""

import math
from collections.abc import Iterator
from typing import BinaryIO

from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of
from registry.weightsfiles.places import Places

NAME = "TensorFlow Lite"
_MOST_TENSORS = 100_000
_MOST_NAME = 300
_MOST_RANK = 32
#: ``TensorType``: name, and bits of a value.
_TYPES = {
    0: ("float32", 32), 1: ("float16", 16), 2: ("int32", 32), 3: ("uint8", 8), 4: ("int64", 64),
    6: ("bool", 8), 7: ("int16", 16), 8: ("complex64", 64), 9: ("int8", 8), 10: ("float64", 64),
    11: ("complex128", 128), 12: ("uint64", 64), 15: ("uint32", 32), 16: ("uint16", 16),
    17: ("int4", 4), 18: ("bfloat16", 16), 19: ("int2", 2), 20: ("uint4", 4),
}  # fmt: skip
#: Numbers of the fields of tables.
_VERSION, _OPERATOR_CODES, _SUBGRAPHS, _DESCRIPTION, _BUFFERS = range(5)
_TENSORS, _OPERATORS = 0, 3
_SHAPE, _TYPE, _BUFFER, _TENSOR_NAME, _QUANTIZATION, _SPARSITY = 0, 1, 2, 3, 4, 6
_DATA, _SIZE = 0, 2
_SCALE = 2


def read(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a network: the tensors whose values are stored.

    Raises:
        Unreadable: it is none, or damaged.
    """
    flat = _Flat(Places(stream, 0, size_bytes))
    if flat.places.take(4, 4) != b"TFL3":
        raise Unreadable("It does not begin like a TensorFlow Lite file.")
    model = flat.places.number("I", 0)
    sizes = [_stored_bytes(flat, place) for place in flat.tables(model, _BUFFERS)]
    graphs = list(flat.tables(model, _SUBGRAPHS))
    operators = sum(len(list(flat.references(graph, _OPERATORS))) for graph in graphs)
    tensors: list[HeaderTensor] = []
    findings: list[str] = []
    scaled = by_channel = 0
    for place in (place for graph in graphs for place in flat.tables(graph, _TENSORS)):
        buffer = flat.number(place, _BUFFER, "I")
        if buffer >= len(sizes):
            raise Unreadable(f"A tensor of it names the buffer {buffer:,} of {len(sizes):,}.")
        if not sizes[buffer]:
            continue
        tensor, bits = _tensor(flat, place, sizes[buffer])
        tensors.append(tensor)
        is_dense = bits and flat.field(place, _SPARSITY) is None
        if is_dense and -(-tensor.elements * bits // 8) != tensor.size_bytes:
            findings.append(
                f"The tensor {tensor.name!r:.100} has {tensor.elements:,} values of "
                f"{tensor.dtype}, but {tensor.size_bytes:,} bytes."
            )
        scales = _scales(flat, place)
        scaled, by_channel = scaled + (scales > 0), by_channel + (scales > 1)
    quantised = f"{scaled:,} of {len(tensors):,} tensors, {by_channel:,} of them by channel"
    metadata = [
        ("description", flat.text(model, _DESCRIPTION)),
        ("operators", f"{operators:,}"),
        ("quantised", quantised if scaled else "no"),
    ]
    return facts_of(NAME, tensors, [pair for pair in metadata if pair[1]], findings)


def _stored_bytes(flat: "_Flat", place: int) -> int:
    """Bytes of a buffer, in it or behind the model."""
    vector = flat.vector(place, _DATA)
    return vector[1] if vector else int(flat.number(place, _SIZE, "Q"))


def _tensor(flat: "_Flat", place: int, size_bytes: int) -> tuple[HeaderTensor, int]:
    """A tensor, and the bits of its values; 0 if they have no fixed size."""
    begin, rank = flat.vector(place, _SHAPE) or (0, 0)
    if rank > _MOST_RANK:
        raise Unreadable(f"A tensor of it has {rank:,} dimensions.")
    shape = flat.places.numbers(f"{rank}i", begin)
    kind = flat.number(place, _TYPE, "B")
    dtype, bits = _TYPES.get(kind, (f"type {kind}", 0))
    name = flat.text(place, _TENSOR_NAME)
    if any(length < 0 for length in shape):
        raise Unreadable(f"The tensor {name!r:.100} has an impossible shape.")
    return HeaderTensor(name, dtype, shape, size_bytes), bits if math.prod(shape) else 0


def _scales(flat: "_Flat", place: int) -> int:
    """Number of scales of a tensor: none, one, or one for each channel."""
    quantization = flat.reference(place, _QUANTIZATION)
    vector = flat.vector(quantization, _SCALE) if quantization else None
    return vector[1] if vector else 0


class _Flat:
    """Fields of tables; a table is named by its place."""

    def __init__(self, places: Places) -> None:
        self.places = places

    def field(self, table: int, number: int) -> int | None:
        """The place of a field; ``None`` if the table leaves it out."""
        vtable = table - self.places.number("i", table)
        length = self.places.number("H", vtable)
        if 4 + 2 * number + 2 > length:
            return None
        offset = self.places.number("H", vtable + 4 + 2 * number)
        return table + offset if offset else None

    def number(self, table: int, number: int, code: str) -> int:
        """A number, 0 by default."""
        place = self.field(table, number)
        return 0 if place is None else int(self.places.number(code, place))

    def reference(self, table: int, number: int) -> int | None:
        """The place that a field refers to."""
        place = self.field(table, number)
        return None if place is None else place + int(self.places.number("I", place))

    def vector(self, table: int, number: int) -> tuple[int, int] | None:
        """Place of the first value of a vector, and the number of values."""
        place = self.reference(table, number)
        return None if place is None else (place + 4, int(self.places.number("I", place)))

    def references(self, table: int, number: int) -> Iterator[int]:
        """Places of the references in a vector."""
        begin, count = self.vector(table, number) or (0, 0)
        if count > _MOST_TENSORS:
            raise Unreadable(f"It claims {count:,} parts of one kind.")
        return iter(range(begin, begin + 4 * count, 4))

    def tables(self, table: int, number: int) -> Iterator[int]:
        """Places of the tables in a vector."""
        for place in self.references(table, number):
            yield place + int(self.places.number("I", place))

    def text(self, table: int, number: int) -> str:
        """A string, "" by default."""
        begin, length = self.vector(table, number) or (0, 0)
        return self.places.take(begin, min(length, _MOST_NAME)).decode("utf-8", "replace")
