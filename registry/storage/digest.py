"""Digests of streams, and the relative path of a digest's bytes."""

import hashlib
from collections.abc import Iterator
from pathlib import PurePosixPath

from registry.ids import SHA256_RE
from registry.storage.base import Readable

PIECE_BYTES = 1 << 20


def pieces(stream: Readable) -> Iterator[bytes]:
    """The stream's bytes, at most :data:`PIECE_BYTES` at a time."""
    while piece := stream.read(PIECE_BYTES):
        yield piece


def sha256_of(stream: Readable) -> str:
    """The SHA-256 of the rest of ``stream``, as lowercase hex."""
    digest = hashlib.sha256()
    for piece in pieces(stream):
        digest.update(piece)
    return digest.hexdigest()


def git_oid_of(stream: Readable, size_bytes: int) -> str:
    """Git's blob id of the rest of ``stream``, which has ``size_bytes`` bytes."""
    digest = git_hasher(size_bytes)
    for piece in pieces(stream):
        digest.update(piece)
    return digest.hexdigest()


def git_hasher(size_bytes: int) -> "hashlib._Hash":
    """A SHA-1 hasher that has consumed the header that git puts before a blob's bytes."""
    # SHA-1 serves as git's identifier only; integrity relies on SHA-256.
    return hashlib.sha1(f"blob {size_bytes}\0".encode(), usedforsecurity=False)


def place(sha256: str) -> PurePosixPath:
    """``ab/cd/abcd...``: the relative path of a digest's bytes.

    DANGER: do not change. All stored bytes are addressed by this function. Raises ``ValueError`` if
    ``sha256`` is not 64 lowercase hex digits, and must not become a path.
    """
    if not SHA256_RE.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is not a SHA-256")
    return PurePosixPath(sha256[:2], sha256[2:4], sha256)
