"""The messages between a parent and its child process: JSON, followed by arrays as raw bytes.

::

    message := length of head (8 bytes, big endian) | head | buffers
    head    := {"body": any JSON, "buffers": [bytes of each buffer]}
    array   := {"$array": number of its buffer, "dtype": "<f4", "shape": [1, 3]}   inside body

Nothing is unpickled. The child works on untrusted files, so its messages are validated before
memory is allocated for them: lengths and counts against bounds, element types against a list,
shapes against the number of bytes. Each buffer belongs to one array, so that a short message cannot
ask for many copies of a long one.
"""

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
#: Upper bound on the buffers of one message: the largest are the inputs of a test set.
MAX_BYTES = 2**30
#: Upper bound on the JSON of one message; the longest is a profile. Parsed, it takes up to twenty
#: times as much memory.
_MAX_HEAD_BYTES = 32 * 2**20
#: Upper bounds on the arrays of one message, and on the dimensions of one (NumPy's own).
_MAX_BUFFERS, _MAX_RANK = 100_000, 64
_LENGTH = struct.Struct(">Q")
_KINDS = frozenset("biufcUS")
_DTYPE = re.compile("[<>|][biufcUS][0-9]{1,9}")
_ARRAY = "$array"
_LAST_CODE_POINT = 0x10FFFF


class BadMessage(ValueError):
    """Bytes that are not a message."""


def encode(value: Any) -> list[bytes | memoryview]:
    """A message, as pieces to be sent one after another.

    Accepts JSON values, NumPy arrays and scalars, paths, dataclasses and sets (as sorted lists).
    Arrays of ``object`` must hold only ``str``. Raises TypeError for a value of another type, or a
    dictionary with a key that is not a string.
    """
    buffers: list[bytes | memoryview] = []
    body = _plain(value, buffers)
    sizes = [len(buffer) for buffer in buffers]
    head = json.dumps({"body": body, "buffers": sizes}).encode()
    return [_LENGTH.pack(len(head)), head, *buffers]


class Decoder:
    """Assembles a message from the pieces that a pipe delivers."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._data = bytearray()
        self._head: dict[str, Any] | None = None
        self._needed = _LENGTH.size
        self._head_length: int | None = None

    @property
    def missing(self) -> int:
        """Number of bytes missing until the next step; never more than the message still has."""
        return self._needed - len(self._data)

    def feed(self, data: bytes) -> bool:
        """Add at most :attr:`missing` bytes; returns whether the message is complete. Raises
        BadMessage if the bytes are not a message, or it is too long."""
        self._data += data
        while self.missing <= 0 and self._head is None:
            if self._head_length is None:
                self._head_length = _LENGTH.unpack(self._data)[0]
                self._expect(self._head_length, _MAX_HEAD_BYTES)
            else:
                self._head = _parse_head(bytes(self._data))
                self._expect(sum(self._head["buffers"]), self._max_bytes)
        return self._head is not None and self.missing <= 0

    def value(self) -> Any:
        """The value of the complete message, its arrays as writable copies; raises BadMessage."""
        if self._head is None:
            raise BadMessage("the message is not complete")
        buffers = list(_split(memoryview(self._data), self._head["buffers"]))
        try:
            return _arrays(self._head["body"], dict(enumerate(buffers)))
        except RecursionError as error:
            raise BadMessage("nested too deeply") from error

    def _expect(self, length: int, most: int) -> None:
        if length > most:
            raise BadMessage(f"{length} bytes, more than the {most} allowed")
        self._data = bytearray()
        self._needed = length


def _parse_head(data: bytes) -> dict[str, Any]:
    try:
        head: dict[str, Any] = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadMessage(f"invalid JSON: {error}") from error
    sizes = head.get("buffers") if isinstance(head, dict) else None
    if not isinstance(sizes, list) or not all(type(s) is int and s >= 0 for s in sizes):
        raise BadMessage("a head without sizes of buffers")
    if len(sizes) > _MAX_BUFFERS:
        raise BadMessage(f"{len(sizes)} buffers, more than the {_MAX_BUFFERS} allowed")
    if "body" not in head:
        raise BadMessage("a head without a body")
    return head


def _split(data: memoryview, sizes: list[int]) -> Iterator[memoryview]:
    at = 0
    for size in sizes:
        yield data[at : at + size]
        at += size


def _plain(value: Any, buffers: list[bytes | memoryview]) -> Any:
    """``value`` as JSON, its arrays moved to ``buffers``."""
    plain = value
    match value:
        case None | bool() | int() | float() | str():
            pass
        case np.ndarray():
            plain = _put(value, buffers)
        case np.generic():
            plain = value.item()
        case Path():
            plain = str(value)
        case list() | tuple():
            plain = [_plain(item, buffers) for item in value]
        case set() | frozenset():
            plain = [_plain(item, buffers) for item in sorted(value)]
        case Mapping():
            if not all(isinstance(key, str) and key != _ARRAY for key in value):
                raise TypeError(f"keys must be strings other than {_ARRAY!r}: {list(value)!r}")
            plain = {key: _plain(item, buffers) for key, item in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            plain = {f.name: _plain(getattr(value, f.name), buffers) for f in fields(value)}
        case _:
            raise TypeError(f"{type(value).__name__} cannot cross a process boundary")
    return plain


def _put(array: Array, buffers: list[bytes | memoryview]) -> dict[str, Any]:
    if array.dtype == object:
        if not all(isinstance(item, str) for item in array.flat):
            raise TypeError("an array of objects other than str cannot cross a process boundary")
        array = array.astype(np.str_)
    if array.dtype.kind not in _KINDS:
        raise TypeError(f"an array of {array.dtype} cannot cross a process boundary")
    flat = np.asarray(array, order="C").reshape(-1)
    buffers.append(flat.view(np.uint8).data if flat.nbytes else b"")
    return {_ARRAY: len(buffers) - 1, "dtype": array.dtype.str, "shape": list(array.shape)}


def _arrays(value: Any, buffers: dict[int, memoryview]) -> Any:
    """``value`` with its arrays; each takes its buffer out of ``buffers``, which are by number."""
    if isinstance(value, list):
        return [_arrays(item, buffers) for item in value]
    if isinstance(value, dict):
        if _ARRAY in value:
            return _take(value, buffers)
        return {key: _arrays(item, buffers) for key, item in value.items()}
    return value


def _take(described: dict[str, Any], buffers: dict[int, memoryview]) -> Array:
    try:
        if not _DTYPE.fullmatch(described["dtype"]):
            raise BadMessage(f"an array of {described['dtype']!r:.100}")
        dtype = np.dtype(described["dtype"])
        if not dtype.itemsize:
            # NumPy would allocate such text with one character per element.
            raise BadMessage("an array of elements without bytes")
        shape = tuple(described["shape"])
        buffer = buffers.pop(described[_ARRAY])
    except (KeyError, TypeError, ValueError) as error:
        raise BadMessage(f"an invalid array: {error!s:.100}") from error
    # The product of a long list of large numbers would take longer than any deadline.
    if len(shape) > _MAX_RANK or not all(type(n) is int and 0 <= n < 2**63 for n in shape):
        raise BadMessage(f"an array with the shape {shape!s:.100}")
    if prod(shape) * dtype.itemsize != len(buffer):
        raise BadMessage(f"{len(buffer)} bytes for {dtype}{list(shape)}")
    if dtype.kind == "U" and buffer:
        characters = np.frombuffer(buffer, f"{dtype.str[0]}u4")
        if characters.max() > _LAST_CODE_POINT:
            raise BadMessage("text with characters that do not exist")
    if buffer:
        return np.frombuffer(bytearray(buffer), dtype).reshape(shape)
    try:
        return np.empty(shape, dtype)
    except ValueError as error:
        # It has no elements, yet larger dimensions than NumPy supports.
        raise BadMessage(f"an array with the shape {shape}: {error}") from error
