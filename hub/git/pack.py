"""A pack: a header with the number of objects, each object deflated, a SHA-1 over it all.

The number of objects comes first, so there are two passes. The first pass writes commits and trees,
deflated, into a temporary file, and collects references to the files. The second pass sends both.
Memory use is some hundred bytes per file plus one small file, independent of the repository's size.
There are no deltas: large files are in large file storage, and the others are small.
Sources: git's ``Documentation/gitformat-pack``; dulwich encodes the objects.
"""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import TypeAlias

from dulwich.object_format import SHA1
from dulwich.pack import pack_header_chunks, pack_object_chunks

from hub.git.plan import FetchPlan
from registry.errors import RegistryError
from registry.selectors.repository.git import Commit, GitBlob, GitObject, objects_of

logger = logging.getLogger(__name__)

_NUMBERS = {"commit": 1, "tree": 2, "blob": 3}
_IN_MEMORY_BYTES = 4 << 20
_PIECE_BYTES = 1 << 16
# On text twice as fast as the default level, and a tenth larger.
_LEVEL = 3
_REPORT_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Message:
    """A progress message for the user; ``fatal`` ends the pack before it is complete."""

    text: str
    fatal: bool = False


Piece: TypeAlias = bytes | Message


def pack(commits: dict[int, Commit], plan: FetchPlan) -> Iterator[Piece]:
    """The objects of ``plan.send`` that are not objects of ``plan.present``."""
    try:
        yield from _pieces(commits, plan)
    except (RegistryError, OSError) as error:
        # The HTTP status is already sent: only this channel can report the error.
        logger.exception("a pack could not be completed")
        text = str(error) if isinstance(error, RegistryError) else "the hub failed"
        yield Message(text, fatal=True)


def _pieces(commits: dict[int, Commit], plan: FetchPlan) -> Iterator[Piece]:
    files: list[GitBlob] = []
    spooled = 0
    with SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as spool:
        for item in objects_of(commits, send=plan.send, have=plan.present):
            if isinstance(item, GitBlob):
                files.append(item)
                continue
            spool.write(_deflated(item))
            spooled += 1
            if spooled % _REPORT_EVERY == 0:
                yield Message(f"Enumerating objects: {spooled + len(files)}\r")
        count = spooled + len(files)
        yield Message(f"Enumerating objects: {count}, done.\n")
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
