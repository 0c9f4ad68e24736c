"""Data sets of HDF5 files, as Keras writes them.

::

    superblock   "\\x89HDF\\r\\n\\x1a\\n"  version 0 ...  the root's object header at byte 64
    object       messages: dataspace (shape), datatype, or of a group its tree and its heap of names
    tree         "TREE"  level  entries: key u64, place of a node u64
    symbols      "SNOD"  entries: place of the name in the heap u64, place of the object u64, ...

Source: https://support.hdfgroup.org/documentation/hdf5/latest/_f_m_t11.html
"""

import math
from collections.abc import Iterator
from typing import BinaryIO

from registry.weightsfiles.facts import HeaderTensor, Unreadable, WeightsFacts, facts_of
from registry.weightsfiles.places import Places

NAME = "HDF5 weights"
_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_ROOT = 64
_MOST_OBJECTS = 100_000
_MOST_DEPTH = 50
_MOST_MESSAGES = 1000
_MOST_NAME = 300
_MOST_RANK = 32
_SPACE, _TYPE, _CONTINUED, _GROUP = 0x01, 0x03, 0x10, 0x11
_ENTRY_BYTES = 40
#: Groups of what continues a training; no weights of the model.
_OPTIMIZERS = ("optimizer/", "optimizer_weights/")


def read(stream: BinaryIO, size_bytes: int) -> WeightsFacts:
    """Facts of a file; raises Unreadable if it is damaged or written by a newer format."""
    tensors, metadata = tensors_of(Places(stream, 0, size_bytes))
    return facts_of(NAME, tensors, metadata)


def tensors_of(places: Places) -> tuple[list[HeaderTensor], list[tuple[str, str]]]:
    """The weights, and a line about what an optimizer keeps. Raises Unreadable."""
    if places.take(0, 8) != _SIGNATURE:
        raise Unreadable("It does not begin like an HDF5 file.")
    version, offset_bytes = places.number("B", 8), places.number("B", 13)
    if (version, offset_bytes) != (0, 8):
        raise Unreadable(f"Its superblock is of version {version}; version 0 is read here.")
    stored = list(_Reader(places).tensors("", places.number("Q", _ROOT), 0))
    tensors = [one for one in stored if not one.name.startswith(_OPTIMIZERS)]
    others = len(stored) - len(tensors)
    return tensors, [("optimizer", f"{others:,} tensors, not counted")] if others else []


class _Reader:
    """Walks the objects of a file, each at most once."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._visited: set[int] = set()

    def tensors(self, name: str, place: int, depth: int) -> Iterator[HeaderTensor]:
        """The data sets at and below the object at ``place``."""
        if place in self._visited:
            return
        self._visited.add(place)
        if len(self._visited) > _MOST_OBJECTS or depth > _MOST_DEPTH:
            raise Unreadable(f"It has more than {_MOST_OBJECTS:,} objects, or a circle of them.")
        messages = dict(self._messages(place))
        if _GROUP in messages:
            tree, heap = self._places.numbers("QQ", messages[_GROUP])
            for inner, where in self._members(tree, heap, 0):
                yield from self.tensors(f"{name}/{inner}".lstrip("/"), where, depth + 1)
        elif {_SPACE, _TYPE} <= messages.keys():
            shape = self._shape(messages[_SPACE])
            dtype, size_bytes = self._dtype(messages[_TYPE])
            yield HeaderTensor(name, dtype, shape, math.prod(shape) * size_bytes)

    def _messages(self, place: int) -> Iterator[tuple[int, int]]:
        """Kinds and places of an object's messages."""
        version, _, count, _, length = self._places.numbers("BBHII", place)
        if version != 1:
            raise Unreadable("It has an object header of a newer version, which is not read here.")
        blocks = [(place + 16, length)]
        for begin, size in blocks:
            at = begin
            while at + 8 <= begin + size and count > 0:
                kind, message_bytes = self._places.numbers("HH", at)
                if kind == _CONTINUED:
                    blocks.append(self._places.numbers("QQ", at + 8))
                yield kind, at + 8
                at, count = at + 8 + message_bytes, count - 1
            if len(blocks) > _MOST_MESSAGES:
                raise Unreadable("An object of it has too many parts.")

    def _members(self, tree: int, heap: int, depth: int) -> Iterator[tuple[str, int]]:
        """Names and places of the objects in a group."""
        signature, _, level, count = self._places.numbers("4sBBH", tree)
        if signature != b"TREE" or depth > _MOST_DEPTH:
            raise Unreadable("A group of it has a damaged tree.")
        for entry in range(count):
            child = self._places.number("Q", tree + 32 + 16 * entry)
            if level:
                yield from self._members(child, heap, depth + 1)
            else:
                yield from self._symbols(child, heap)

    def _symbols(self, node: int, heap: int) -> Iterator[tuple[str, int]]:
        signature, _, _, count = self._places.numbers("4sBBH", node)
        names, size = self._places.number("Q", heap + 24), self._places.number("Q", heap + 8)
        if signature != b"SNOD" or self._places.take(heap, 4) != b"HEAP":
            raise Unreadable("A group of it has damaged names.")
        for entry in range(count):
            offset, place = self._places.numbers("QQ", node + 8 + _ENTRY_BYTES * entry)
            text = self._places.take(names + offset, max(0, min(_MOST_NAME, size - offset)))
            yield text.partition(b"\0")[0].decode("utf-8", "replace"), place

    def _shape(self, place: int) -> tuple[int, ...]:
        version, rank = self._places.numbers("BB", place)
        if version not in {1, 2} or rank > _MOST_RANK:
            raise Unreadable("A data set of it has a damaged shape.")
        return self._places.numbers(f"{rank}Q", place + (8 if version == 1 else 4))

    def _dtype(self, place: int) -> tuple[str, int]:
        """Name and bytes of an element type."""
        kind, flags, _, _, size = self._places.numbers("BBBBI", place)
        match kind & 0x0F:
            case 0:
                return f"{'int' if flags & 8 else 'uint'}{8 * size}", size
            case 1:
                return f"float{8 * size}", size
            case 8:
                return "bool", size
            case _:
                return f"values of {size} bytes", size
