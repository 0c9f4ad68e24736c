"""The hashes of the Xet protocol: BLAKE3 with a key for each purpose.

::

    chunk   BLAKE3(chunk key, its bytes)
    node    BLAKE3(node key, "<hash> : <length>\n" for each child)
    xorb    the root of the tree of nodes over its chunks; that of a single chunk is its hash
    file    BLAKE3(32 zero bytes, the root of the tree over the file's chunks)
    range   BLAKE3(range key, the hashes of a run of chunks): proof that a client knows them

Source: xet-core ``merklehash/{data_hash,aggregated_hashes}.rs``,
``metadata_shard/chunk_verification.rs``.
"""

import re
import struct
from dataclasses import dataclass, field

from blake3 import blake3

HASH_BYTES = 32
#: The hash of a xorb or a file without chunks.
NOTHING = bytes(HASH_BYTES)

_CHUNK_KEY = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
_NODE_KEY = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
_RANGE_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")

# A node has three to nine children, except for the last ones, and ends after a hash that is a
# multiple of four: about four children each, and an edit changes few node boundaries.
_FEWEST, _MOST, _EVERY = 3, 9, 4

# Clients query the hub for chunks whose hash is a multiple of this, and for a file's first chunk.
_SAMPLED_EVERY = 1024

_SPELLED = re.compile(r"[0-9a-fA-F]{64}")


def chunk_hash(data: bytes | bytearray | memoryview) -> bytes:
    """The hash of a chunk's bytes."""
    return blake3(data, key=_CHUNK_KEY).digest()


def range_hash(chunk_hashes: bytes) -> bytes:
    """The proof of knowing a run of chunks, from their concatenated hashes."""
    return blake3(chunk_hashes, key=_RANGE_KEY).digest()


def file_hash(root: bytes) -> bytes:
    """The hash of a file, from the root of the tree over its chunks."""
    return NOTHING if root == NOTHING else blake3(root, key=bytes(HASH_BYTES)).digest()


def is_sampled(chunk: bytes) -> bool:
    """Whether clients query the hub for a chunk of this hash, whatever its position in a file."""
    return _last_word(chunk) % _SAMPLED_EVERY == 0


def spelled(digest: bytes) -> str:
    """A hash as addresses and JSON have it: hex, with each group of eight bytes reversed."""
    return struct.pack(">4Q", *struct.unpack("<4Q", digest)).hex()


def parsed(text: str) -> bytes | None:
    """Inverse of :func:`spelled`; ``None`` if ``text`` is malformed."""
    if not _SPELLED.fullmatch(text):
        return None
    return struct.pack("<4Q", *struct.unpack(">4Q", bytes.fromhex(text)))


@dataclass(slots=True)
class _Level:
    """Nodes of one height that have no parent yet; ``total`` counts all nodes of that height."""

    waiting: list[tuple[bytes, int]] = field(default_factory=list)
    total: int = 0


class MerkleTree:
    """The tree over a sequence of chunks; only its right edge is in memory."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def add(self, digest: bytes, length: int) -> None:
        """Append a chunk of ``length`` bytes."""
        self._push(0, (digest, length))

    def root(self) -> bytes:
        """The root's hash. No chunk can be added afterwards."""
        height = 0
        while height < len(self._levels):
            level = self._levels[height]
            if level.total == 1:
                return level.waiting[0][0]
            if level.waiting:
                self._push(height + 1, _parent(level.waiting))
                level.waiting = []
            height += 1
        return NOTHING

    def _push(self, height: int, node: tuple[bytes, int]) -> None:
        if height == len(self._levels):
            self._levels.append(_Level())
        level = self._levels[height]
        level.waiting.append(node)
        level.total += 1
        count = len(level.waiting)
        if count == _MOST or (count >= _FEWEST and _last_word(node[0]) % _EVERY == 0):
            self._push(height + 1, _parent(level.waiting))
            level.waiting = []


def _parent(children: list[tuple[bytes, int]]) -> tuple[bytes, int]:
    text = "".join(f"{spelled(digest)} : {length}\n" for digest, length in children)
    return blake3(text.encode(), key=_NODE_KEY).digest(), sum(length for _, length in children)


def _last_word(digest: bytes) -> int:
    return int.from_bytes(digest[24:], "little")
