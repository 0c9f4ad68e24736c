"""Reads FlatBuffers tables of an untrusted file, without generated code.

::

    table ──▶ int32 back to its vtable: uint16 size, uint16 size of table, uint16 offset per field
      field: the value itself, or a uint32 forward to a string, a vector or another table

``struct`` checks every offset against the end of the file; every count is checked against its size.
Source: the binary format described in ``docs/source/internals.md`` of FlatBuffers.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass


class Malformed(Exception):
    """An offset or a count exceeds the file."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table at position ``at`` of ``data``. Fields are identified by number in the schema."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> "Table":
        """The root table of a file."""
        return cls(data, _read("<I", data, 0))

    def scalar(self, field: int, kind: str, default: int = 0) -> int:
        """A number in the ``struct`` format ``kind``, such as ``b``."""
        at = self._field(field)
        return default if at is None else _read(f"<{kind}", self.data, at)

    def text(self, field: int) -> str:
        """A string; empty if absent. Raises Malformed if it is not UTF-8."""
        start, count = self._vector(field, 1)
        try:
            return self.data[start : start + count].decode()
        except UnicodeDecodeError as error:
            raise Malformed("a name is not UTF-8") from error

    def numbers(self, field: int, kind: str) -> tuple[int, ...]:
        """A vector of numbers in the ``struct`` format ``kind``; empty if absent."""
        start, count = self._vector(field, struct.calcsize(kind))
        return struct.unpack_from(f"<{count}{kind}", self.data, start)

    def table(self, field: int) -> "Table | None":
        """A nested table; ``None`` if absent."""
        at = self._field(field)
        return None if at is None else Table(self.data, at + _read("<I", self.data, at))

    def tables(self, field: int) -> "Iterator[Table]":
        """A vector of tables; empty if absent."""
        start, count = self._vector(field, 4)
        for at in range(start, start + 4 * count, 4):
            yield Table(self.data, at + _read("<I", self.data, at))

    def size(self, field: int) -> int:
        """Length of a vector of bytes."""
        return self._vector(field, 1)[1]

    def content(self, field: int) -> bytes:
        """A vector of bytes; empty if absent."""
        start, count = self._vector(field, 1)
        return self.data[start : start + count]

    def inline(self) -> bytes:
        """Fields and their bytes inside the table, to distinguish small tables. Strings and vectors
        are compared by their position, not by their contents."""
        vtable = self.at - _read("<i", self.data, self.at)
        width, own = _read("<H", self.data, vtable), _read("<H", self.data, vtable + 2)
        return self.data[vtable + 4 : vtable + width] + self.data[self.at + 4 : self.at + own]

    def _vector(self, field: int, width: int) -> tuple[int, int]:
        at = self._field(field)
        if at is None:
            return 0, 0
        start = at + _read("<I", self.data, at)
        count = _read("<I", self.data, start)
        if start + 4 + count * width > len(self.data):
            raise Malformed("a vector is longer than the file")
        return start + 4, count

    def _field(self, field: int) -> int | None:
        """Position of a field's value; ``None`` if it is absent."""
        vtable = self.at - _read("<i", self.data, self.at)
        size = _read("<H", self.data, vtable)
        slot = 4 + 2 * field
        offset = _read("<H", self.data, vtable + slot) if slot < size else 0
        return self.at + offset if offset else None


def _read(kind: str, data: bytes, at: int) -> int:
    # struct interprets negative offsets as positions from the end.
    if at < 0:
        raise Malformed("an offset exceeds the file")
    try:
        value: int = struct.unpack_from(kind, data, at)[0]
    except struct.error as error:
        raise Malformed("an offset exceeds the file") from error
    return value
