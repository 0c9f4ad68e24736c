"""Headers of GGUF files.

::

    "GGUF"  version: u32  tensors: u64  entries: u64
    entry   key: string  type: u32  value                      string: length u64, UTF-8
    tensor  name: string  rank: u32  sizes: u64[rank], innermost first  type: u32  offset: u64
    data    from the next multiple of general.alignment

Source: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

import math
import struct
from typing import Any, BinaryIO

from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of

NAME = "GGUF"
#: Vocabularies are part of the header.
_MOST_BYTES = 32 * 2**20
_MOST_TENSORS = 100_000
_MOST_ENTRIES = 10_000
#: Strings of all vocabularies together: each is a step in Python.
_MOST_STRINGS = 1_000_000
_MOST_RANK = 8
_ALIGNMENT = 32
_STRING, _ARRAY = 8, 9
_NUMBERS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
#: Type to name, values of a block and bytes of a block (ggml.c, type_traits).
TYPES = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip
#: Entries that tell what a file is.
_SHOWN = (
    "general.architecture", "general.name", "general.license", "general.file_type",
    "general.quantization_version", "tokenizer.ggml.model",
)  # fmt: skip
_SHOWN_ENDS = (".context_length", ".embedding_length", ".block_count", ".attention.head_count")


def read(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a file; a tensor that lies outside it is a finding.

    Raises:
        Unreadable: the header is damaged, or larger than is read here.
    """
    cursor = _Cursor(stream.read(min(size_bytes, _MOST_BYTES)), is_whole=size_bytes <= _MOST_BYTES)
    if cursor.take(4) != b"GGUF":
        raise Unreadable("It does not begin like a GGUF file.")
    version = cursor.number("I")
    if version not in {2, 3}:
        raise Unreadable(f"It is of version {version}; versions 2 and 3 are read here.")
    tensors, entries = cursor.number("Q"), cursor.number("Q")
    if tensors > _MOST_TENSORS or entries > _MOST_ENTRIES:
        raise Unreadable(f"It claims {tensors:,} tensors and {entries:,} entries.")
    metadata = {cursor.string(): cursor.value(cursor.number("I")) for _ in range(entries)}
    described = [cursor.tensor() for _ in range(tensors)]
    alignment = metadata.get("general.alignment", _ALIGNMENT)
    if type(alignment) is not int or alignment < 1:
        raise Unreadable("Its alignment is no number.")
    data_bytes = size_bytes - -(-cursor.position // alignment) * alignment
    findings = [
        f"The tensor {tensor.name!r:.100} lies outside the file."
        for tensor, offset in described
        if offset + tensor.size_bytes > data_bytes
    ]
    shown = [
        (key, value)
        for key, value in metadata.items()
        if key in _SHOWN or key.endswith(_SHOWN_ENDS)
    ]
    listed = [tensor for tensor, _ in described]
    return facts_of(NAME, listed, [("version", version), *shown], findings)


class _Cursor:
    """Reads a header front to back; raises Unreadable where it ends too early.

    Args:
        is_whole: Whether ``data`` is the whole file.
    """

    def __init__(self, data: bytes, *, is_whole: bool) -> None:
        self.data = data
        self.is_whole = is_whole
        self.position = 0
        self.strings = 0

    def take(self, length: int) -> bytes:
        start, self.position = self.position, self.position + length
        if self.position > len(self.data):
            limit = f"Its header has more than the {_MOST_BYTES:,} bytes that are read here."
            raise Unreadable("It ends within its header." if self.is_whole else limit)
        return self.data[start : self.position]

    def number(self, code: str) -> Any:
        return struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))[0]

    def string(self) -> str:
        self.strings += 1
        if self.strings > _MOST_STRINGS:
            raise Unreadable(f"Its header has more than {_MOST_STRINGS:,} strings.")
        return self.take(self.number("Q")).decode("utf-8", "replace")

    def value(self, kind: int) -> object:
        """A value; the number of values for an array."""
        if kind == _STRING:
            return self.string()
        if kind == _ARRAY:
            return self._array()
        if kind not in _NUMBERS:
            raise Unreadable(f"An entry has the unknown type {kind}.")
        return self.number(_NUMBERS[kind])

    def tensor(self) -> tuple[HeaderTensor, int]:
        """A tensor, and the place of its data."""
        name, rank = self.string(), self.number("I")
        if rank > _MOST_RANK:
            raise Unreadable(f"The tensor {name!r:.100} has {rank:,} dimensions.")
        sizes = [self.number("Q") for _ in range(rank)]
        kind, offset = self.number("I"), self.number("Q")
        dtype, values, block_bytes = TYPES.get(kind, (f"type {kind}", 1, 0))
        size_bytes = -(-math.prod(sizes) // values) * block_bytes
        return HeaderTensor(name, dtype, tuple(reversed(sizes)), size_bytes), offset

    def _array(self) -> str:
        kind, count = self.number("I"), self.number("Q")
        if kind in _NUMBERS:
            self.take(count * struct.calcsize(f"<{_NUMBERS[kind]}"))
        elif kind == _STRING:
            for _ in range(count):
                self.string()
        else:
            raise Unreadable(f"An array holds values of type {kind}.")
        return f"{count:,} values"
