"""Makes xorbs and shards as clients do, and as forgers do."""

import struct
from collections.abc import Sequence

import lz4.frame

from registry.xet.hashes import MerkleTree, chunk_hash, file_hash, range_hash
from registry.xet.shard import _END, _TAG

AS_IS, LZ4, PLANES = 0, 1, 2


def packed(
    raw: bytes, scheme: int = AS_IS, *, claims: int | None = None, tail: bytes = b""
) -> bytes:
    """A chunk with its header.

    Args:
        claims: The raw length that the header gives, if it lies.
        tail: Comes after what was packed, still within the chunk.
    """
    data = b"".join(raw[plane::4] for plane in range(4)) if scheme == PLANES else raw
    data = data if scheme == AS_IS else lz4.frame.compress(data)
    data += tail
    length = len(raw) if claims is None else claims
    return struct.pack("<I", len(data) << 8) + struct.pack("<I", length << 8 | scheme) + data


def root(chunks: Sequence[bytes]) -> bytes:
    """The hash of a xorb of these chunks."""
    tree = MerkleTree()
    for chunk in chunks:
        tree.add(chunk_hash(chunk), len(chunk))
    return tree.root()


def file_entry(
    chunks: Sequence[bytes],
    runs: Sequence[tuple[bytes, int, int]],
    sha256: str | None,
    *,
    proofs: bool = True,
) -> bytes:
    """The records of a file made of ``chunks``.

    Args:
        runs: Xorb, first and end of each run, in the order of ``chunks``.
        sha256: The digest it claims; ``None`` leaves it out.
    """
    flags = (proofs << 31) | ((sha256 is not None) << 30)
    entries, proof_records, at = [], [], 0
    for xorb, first, end in runs:
        own = chunks[at : at + end - first]
        entries.append(xorb + struct.pack("<4I", 0, sum(map(len, own)), first, end))
        proof_records.append(range_hash(b"".join(map(chunk_hash, own))) + bytes(16))
        at += end - first
    head = file_hash(root(chunks)) + struct.pack("<IIQ", flags, len(runs), 0)
    parts = [head, *entries, *(proof_records if proofs else [])]
    if sha256 is not None:
        words = struct.unpack(">4Q", bytes.fromhex(sha256))
        parts.append(struct.pack("<4Q", *words) + bytes(16))
    return b"".join(parts)


def shard(*files: bytes) -> bytes:
    """A shard of these files, without a section of xorbs' chunks."""
    end = _END + bytes(16)
    return _TAG + struct.pack("<QQ", 2, 0) + b"".join(files) + end + end
