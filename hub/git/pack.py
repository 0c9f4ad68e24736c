"""A pack: a header with the number of objects, each object deflated, a SHA-1 over it all.

The number comes first, so there are two passes. The first makes commits and trees and keeps them,
deflated, in a temporary file; of files it keeps where they lie. The second sends both. Memory
holds some hundred bytes a file and one small file at a time, however large the repository.

No deltas: what is long in a model repository is in large file storage, and what is left is small.
Sources: git's ``Documentation/gitformat-pack``; the encoding of objects is dulwich's.
"""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import TypeAlias

from dulwich.object_format import SHA1
from dulwich.pack import pack_header_chunks, pack_object_chunks

from hub.git.plan import Plan
from registry.errors import RegistryError
from registry.selectors.repository.git import Commit, GitBlob, GitObject, objects_of

logger = logging.getLogger(__name__)

_NUMBERS = {"commit": 1, "tree": 2, "blob": 3}
_IN_MEMORY_BYTES = 4 << 20
_PIECE_BYTES = 1 << 16
# Twice as fast as the default on text, for a tenth more bytes.
_LEVEL = 3
_TELL_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Said:
    """Words for the person who waits; ``fatal``: the pack ends here, unfinished."""

    text: str
    fatal: bool = False


Piece: TypeAlias = bytes | Said


def pack(commits: dict[int, Commit], found: Plan) -> Iterator[Piece]:
    """The objects of ``found.send``, less those of ``found.known``."""
    try:
        yield from _pieces(commits, found)
    except (RegistryError, OSError) as error:
        # The status was sent long ago; what is broken or was deleted can only be told here.
        logger.exception("a pack was cut off")
        said = str(error) if isinstance(error, RegistryError) else "the hub failed"
        yield Said(said, fatal=True)


def _pieces(commits: dict[int, Commit], found: Plan) -> Iterator[Piece]:
    files: list[GitBlob] = []
    made = 0
    with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as spool:
        for item in objects_of(commits, send=found.send, known=found.known):
            if isinstance(item, GitBlob):
                files.append(item)
                continue
            spool.write(_deflated(item))
            made += 1
            if made % _TELL_EVERY == 0:
                yield Said(f"Enumerating objects: {made + len(files)}\r")
        count = made + len(files)
        yield Said(f"Enumerating objects: {count}, done.\n")
        digest = hashlib.sha1(usedforsecurity=False)
        for piece in _whole(count, spool, files):
            digest.update(piece)
            yield piece
        yield digest.digest()


def _whole(
    count: int, spool: "SpooledTemporaryFile[bytes]", files: list[GitBlob]
) -> Iterator[bytes]:
    yield b"".join(pack_header_chunks(count))
    spool.seek(0)
    while piece := spool.read(_PIECE_BYTES):
        yield piece
    for file in files:
        yield _deflated(file)


def _deflated(item: GitObject | GitBlob) -> bytes:
    if isinstance(item, GitBlob):
        kind, content = "blob", item.read()
    else:
        kind, content = item.kind, item.content
    chunks = pack_object_chunks(
        _NUMBERS[kind], [content], object_format=SHA1, compression_level=_LEVEL
    )
    return b"".join(chunks)
