"""The hashes of the Xet protocol: BLAKE3, keyed by what is hashed.

::

    chunk   BLAKE3(chunk key, its bytes)
    node    BLAKE3(node key, "<hash> : <length>\n" for each child)
    xorb    the root of the tree of nodes over its chunks; a lone chunk's is the chunk's own
    file    BLAKE3(32 zero bytes, the root of the tree over the file's chunks)
    range   BLAKE3(range key, the hashes of a run of chunks): proves that a client knows them

Source: xet-core ``merklehash/{data_hash,aggregated_hashes}.rs``,
``metadata_shard/chunk_verification.rs``.
"""

import re
import struct
from dataclasses import dataclass, field

from blake3 import blake3

HASH_BYTES = 32
#: The hash of an xorb or a file without chunks.
NOTHING = bytes(HASH_BYTES)

_CHUNK_KEY = bytes.fromhex("6697f5775b9550de3135cbaca597181c9de421109beb2b58b4d0b04b93adf229")
_NODE_KEY = bytes.fromhex("017ec5c7a5472996fd946666b48a02e65ddd536f37c76dd2f86352e64a53713f")
_RANGE_KEY = bytes.fromhex("7f1857d6ce56ed66127ff913e7a5c3f3a4cd26d5b5db49e64124987f28fb94c3")

# A node has three to nine children, except for the last ones, and ends after a hash that is a
# multiple of four: about four children each, and an edit moves few of the borders.
_FEWEST, _MOST, _EVERY = 3, 9, 4

# Clients ask the whole hub for chunks whose hash is a multiple of this, and for a file's first.
_SAMPLED_EVERY = 1024

_SPELLED = re.compile(r"[0-9a-fA-F]{64}")


def chunk_hash(data: bytes | bytearray | memoryview) -> bytes:
    """The hash of a chunk's bytes."""
    return blake3(data, key=_CHUNK_KEY).digest()


def range_hash(chunk_hashes: bytes) -> bytes:
    """The proof of knowing a run of chunks, from their hashes one after another."""
    return blake3(chunk_hashes, key=_RANGE_KEY).digest()


def file_hash(root: bytes) -> bytes:
    """The hash of a file, from the root of the tree over its chunks."""
    return NOTHING if root == NOTHING else blake3(root, key=bytes(HASH_BYTES)).digest()


def is_sampled(chunk: bytes) -> bool:
    """Whether clients ask the whole hub for a chunk of this hash, wherever it stands in a file."""
    return _last_word(chunk) % _SAMPLED_EVERY == 0


def spelled(digest: bytes) -> str:
    """How addresses and JSON spell a hash: hex, with the bytes of each group of eight reversed."""
    return struct.pack(">4Q", *struct.unpack("<4Q", digest)).hex()


def parsed(text: str) -> bytes | None:
    """Inverse of :func:`spelled`; ``None`` if ``text`` spells no hash."""
    if not _SPELLED.fullmatch(text):
        return None
    return struct.pack("<4Q", *struct.unpack(">4Q", bytes.fromhex(text)))


@dataclass(slots=True)
class _Level:
    """Nodes of one height that wait for their parent; ``seen`` counts all there ever were."""

    waiting: list[tuple[bytes, int]] = field(default_factory=list)
    seen: int = 0


class MerkleTree:
    """The tree over a sequence of chunks, of which only the right edge is held."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def add(self, digest: bytes, length: int) -> None:
        """Append a chunk of ``length`` bytes."""
        self._push(0, (digest, length))

    def root(self) -> bytes:
        """The root's hash. The tree takes no more chunks after."""
        height = 0
        while height < len(self._levels):
            level = self._levels[height]
            if level.seen == 1:
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
        level.seen += 1
        count = len(level.waiting)
        if count == _MOST or (count >= _FEWEST and _last_word(node[0]) % _EVERY == 0):
            self._push(height + 1, _parent(level.waiting))
            level.waiting = []


def _parent(children: list[tuple[bytes, int]]) -> tuple[bytes, int]:
    text = "".join(f"{spelled(digest)} : {length}\n" for digest, length in children)
    return blake3(text.encode(), key=_NODE_KEY).digest(), sum(length for _, length in children)


def _last_word(digest: bytes) -> int:
    return int.from_bytes(digest[24:], "little")
