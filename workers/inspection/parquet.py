"""Reads the schema in the footer of a Parquet file, without the data.

::

    "PAR1" data ... FileMetaData length (4 bytes, little endian) "PAR1"

FileMetaData is a struct of Thrift's compact protocol: a field is a byte (distance to the field
before, type) and a value; integers are zigzag varints.
"""

import io
import struct
from pathlib import Path
from typing import Any

_MAGIC = b"PAR1"
#: Upper bounds on the footer in bytes, and on the nesting of its structs.
_MAX_FOOTER = 2**24
_MAX_DEPTH = 16
_INT64 = 2**63
_REPEATED = 2
_BYTE_ARRAY = 6
_PHYSICAL = {0: "boolean", 1: "integer", 2: "integer", 3: "datetime", 4: "float", 5: "float"}
# Converted types of parquet.thrift: UTF8, ENUM, JSON; DATE; TIMESTAMP_*; (U)INT_*.
_CONVERTED = {
    0: "text",
    4: "text",
    19: "text",
    6: "date",
    9: "datetime",
    10: "datetime",
} | dict.fromkeys(range(11, 19), "integer")
# Members of the union LogicalType: STRING, ENUM, JSON, UUID; DATE; TIMESTAMP; INTEGER.
_LOGICAL = {1: "text", 4: "text", 12: "text", 6: "date", 8: "datetime", 10: "integer"}


def read_parquet(path: Path) -> tuple[int, list[dict[str, Any]]]:
    """Number of rows, and the columns of simple types; nested ones are left out.

    Raises ValueError if it is not a Parquet file, or its footer is encrypted or damaged.
    """
    with path.open("rb") as stream:
        size = stream.seek(0, io.SEEK_END)
        if size < 12:
            raise ValueError("too short for a Parquet file")
        stream.seek(-8, io.SEEK_END)
        length, magic = struct.unpack("<I4s", stream.read(8))
        if magic != _MAGIC or length > min(size - 12, _MAX_FOOTER):
            raise ValueError("no footer of a Parquet file")
        stream.seek(-8 - length, io.SEEK_END)
        footer = _Reader(stream.read(length)).struct()
    schema, rows = footer.get(2), footer.get(3)
    if not isinstance(schema, list) or not all(isinstance(element, dict) for element in schema):
        raise ValueError("a footer without a schema")
    if type(rows) is not int or not 0 <= rows < _INT64:
        raise ValueError("an impossible number of rows")
    return rows, _columns(schema)


def _columns(schema: list[Any]) -> list[dict[str, Any]]:
    """Top-level columns; ``schema`` is the tree in depth-first order, beginning at its root."""
    columns, at = [], 1
    while at < len(schema):
        element, end = schema[at], _end(schema, at)
        kind = _type(element)
        if kind and end == at + 1 and element.get(3) != _REPEATED:
            name = element[4].decode()
            columns.append({"name": name, "type": kind, "is_list": False})
        at = end
    if not columns:
        raise ValueError("no column of a simple type")
    return columns


def _end(schema: list[Any], at: int) -> int:
    """Position behind the element and all that is in it."""
    pending = 1
    while pending:
        pending += schema[at].get(5, 0) - 1
        at += 1
        if at > len(schema) or (pending and at == len(schema)):
            raise ValueError("a schema that ends too early")
    return at


def _type(element: dict[int, Any]) -> str | None:
    logical = next(iter(element.get(10) or {}), None)
    if logical is not None:
        return _LOGICAL.get(logical)
    converted = element.get(6)
    if converted is not None:
        return _CONVERTED.get(converted)
    return _PHYSICAL.get(element.get(1, _BYTE_ARRAY))


class _Reader:
    """Values of Thrift's compact protocol; a struct is a dictionary by field number."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        fields: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            step, kind = head >> 4, head & 15
            number = number + step if step else self._integer()
            # A boolean field has its value in place of the type.
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind, depth + 1)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 8:
            return self._take(self._varint())
        if kind in (9, 10):
            return self._list(depth)
        if kind == 12:
            return self.struct(depth)
        if kind in (1, 2, 3):
            return self._byte()
        if kind == 7:
            return self._take(8)
        raise ValueError("a type that footers do not have")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4
        if count == 15:
            count = self._varint()
        if count > len(self._data) - self._at:
            raise ValueError("a list that ends too early")
        return [self._value(head & 15, depth) for _ in range(count)]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        number = 0
        for shift in range(0, 70, 7):
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
        raise ValueError("a number that is too long")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise ValueError("a footer that ends too early")
        self._at += count
        return taken
