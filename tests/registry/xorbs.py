"""Xorbs and files of a few bytes, sent as clients send them."""

import hashlib
import io
from collections.abc import Sequence

from registry.selectors.storage.blob import blob_open, blobs_usable
from registry.services.storage.shard import shard_register
from registry.services.storage.xorb import xorb_store
from registry.tables import MLModel, User
from registry.xet.hashes import spelled
from tests.registry.xet.packer import LZ4, file_entry, packed, root, shard

Runs = Sequence[tuple[bytes, int, int]]


def send(user: User, mlmodel: MLModel, chunks: Sequence[bytes], scheme: int = LZ4) -> bytes:
    """Send a xorb of these chunks; its hash."""
    data = b"".join(packed(chunk, scheme) for chunk in chunks)
    digest = root(chunks)
    xorb_store(
        actor=user,
        mlmodel=mlmodel,
        xorb_hash=spelled(digest),
        stream=io.BytesIO(data),
        size_bytes=len(data),
    )
    return digest


def sha256_of(chunks: Sequence[bytes]) -> str:
    """The digest of a file made of these chunks."""
    return hashlib.sha256(b"".join(chunks)).hexdigest()


def register(
    user: User, mlmodel: MLModel, chunks: Sequence[bytes], runs: Runs, sha256: str | None = None
) -> str:
    """Have a file made of these chunks, taken from ``runs``; its digest."""
    digest = sha256 or sha256_of(chunks)
    body = shard(file_entry(chunks, runs, digest))
    shard_register(actor=user, mlmodel=mlmodel, stream=io.BytesIO(body))
    return digest


def content_of(user: User, sha256: str) -> bytes:
    """The bytes, which ``user`` may name in a commit."""
    with blob_open(blobs_usable(user, [sha256])[sha256]) as stream:
        return stream.read()
