"""Shards: a client's description of its files, or the hub's of the chunks it has.

Everything is a record of 48 bytes, little-endian; hashes are 32 bytes::

    header      32 bytes of tag, u64 version, u64 length of the footer (0 without one)
    files       for each file
                    hash, u32 flags, u32 n, 8 unused
                    n runs of chunks: xorb's hash, u32 flags, u32 raw bytes, u32 first, u32 end
                    n proofs: range hash, 16 unused           (flag bit 31)
                    SHA-256 of the file, 16 unused            (flag bit 30)
                and a hash of 32 x 0xff
    xorbs       for each xorb
                    hash, u32 flags, u32 n, u32 raw bytes, u32 packed bytes
                    n chunks: hash, u32 raw offset, u32 raw bytes, u32 flags, u32 unused
                and a hash of 32 x 0xff
    look-up     of files and xorbs: u64 first word of the hash, u32 record number;
                of chunks: u64 first word, u32 record number of the xorb, u32 position
    footer      200 bytes: offsets and counts of the parts above, key, times

Source: xet-core ``metadata_shard/{shard_format,file_structs,xorb_structs}.rs``.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from registry.errors import Invalid
from registry.storage.base import Readable
from registry.xet.chunks import ChunkList
from registry.xet.hashes import spelled

#: Maximum length of a shard; clients limit theirs to 64 MiB.
MAX_BYTES = 72 * 2**20

_TAG = b"HFRepoMetaData\0" + bytes.fromhex("556967456a7b815783a5bdd95ccdd14aa9")
_VERSION, _FOOTER_VERSION, _FOOTER_BYTES = 2, 1, 200
_RECORD_BYTES = 48
_END = b"\xff" * 32
_HAS_PROOFS, _HAS_SHA256 = 1 << 31, 1 << 30
_PIECE_BYTES = 1 << 20

_RUN = np.dtype([
    ("xorb", "V32"), ("flags", "<u4"), ("raw", "<u4"), ("first", "<u4"), ("end", "<u4"),
])  # fmt: skip
_CHUNK = np.dtype([
    ("hash", "V32"), ("offset", "<u4"), ("raw", "<u4"), ("flags", "<u4"), ("unused", "<u4"),
])  # fmt: skip
_XORB_PLACE = np.dtype([("word", "<u8"), ("record", "<u4")])
_CHUNK_PLACE = np.dtype([("word", "<u8"), ("record", "<u4"), ("position", "<u4")])


@dataclass(frozen=True, slots=True)
class ShardRun:
    """Chunks ``first`` to ``end`` (exclusive) of a xorb, ``raw_bytes`` in all, and the proof."""

    xorb: bytes
    first: int
    end: int
    raw_bytes: int
    proof: bytes


@dataclass(frozen=True, slots=True)
class ShardFile:
    """A file as a client describes it."""

    digest: bytes
    sha256: str
    records: memoryview

    @property
    def size_bytes(self) -> int:
        """The length that the client states: the sum over its runs."""
        return int(self._runs()["raw"].sum(dtype=np.int64))

    def runs(self) -> Iterator[ShardRun]:
        """Its runs of chunks, in order."""
        runs = self._runs()
        proofs = self.records[len(runs) * _RECORD_BYTES :]
        for number, run in enumerate(runs):
            at = number * _RECORD_BYTES
            yield ShardRun(
                run["xorb"].tobytes(),
                int(run["first"]),
                int(run["end"]),
                int(run["raw"]),
                bytes(proofs[at : at + 32]),
            )

    def _runs(self) -> npt.NDArray[np.void]:
        return np.frombuffer(self.records[: len(self.records) // 2], dtype=_RUN)


def read_files(stream: Readable) -> list[ShardFile]:
    """The files that a shard describes; the stream is read to its end.

    Nothing is allocated for a declared count before the counted bytes were received. Raises
    ``Invalid`` ``invalid_shard``.
    """
    body = _Body(stream)
    header = body.take(_RECORD_BYTES)
    if header[:32] != _TAG or int.from_bytes(header[32:40], "little") != _VERSION:
        raise bad_shard("It does not begin as a shard does.")
    files = []
    while (head := body.take(_RECORD_BYTES))[:32] != _END:
        flags, count = struct.unpack_from("<II", head, 32)
        if not flags & _HAS_SHA256:
            raise bad_shard(
                "A file comes without its SHA-256, which is its name here.",
                "Use a client that sends it, as huggingface_hub does.",
            )
        if not flags & _HAS_PROOFS:
            raise bad_shard("A file comes without proofs that the client knows its chunks.")
        records = memoryview(body.take(2 * count * _RECORD_BYTES))
        sha256 = spelled(body.take(_RECORD_BYTES)[:32])
        file = ShardFile(head[:32], sha256, records)
        if (file._runs()["first"] >= file._runs()["end"]).any():  # noqa: SLF001 (its own module)
            raise bad_shard("A file has a run of no chunks.")
        files.append(file)
    body.drain()
    return files


def write_shard(
    xorbs: Sequence[tuple[bytes, ChunkList, npt.NDArray[np.bool_]]], *, now_s: int, end_s: int
) -> bytes:
    """The shard that describes ``xorbs`` to a client.

    Args:
        xorbs: Hash, chunks, and for each chunk whether the client may use it; the hashes of the
            others are zeroed, so that the client cannot match a chunk with them.
        now_s: Present Unix time, in seconds.
        end_s: Unix time at which the shard expires, in seconds.
    """
    # Clients look xorbs and chunks up by the first word of their hash, in order.
    ordered = sorted(xorbs, key=lambda xorb: _word(xorb[0]))
    places, lookup, parts, record = [], [], [], 0
    for digest, chunks, usable in ordered:
        places.append((_word(digest), record))
        entries, chunk_lookup = _entries(chunks, usable, record)
        parts += [_xorb_header(digest, chunks), entries.tobytes()]
        lookup.append(chunk_lookup)
        record += 1 + len(chunks)
    chunk_places = np.concatenate([np.empty(0, dtype=_CHUNK_PLACE), *lookup])
    chunk_places.sort(order="word", kind="stable")
    end = _END + bytes(16)
    xorb_section = b"".join([*parts, end])
    offsets = [_RECORD_BYTES, 2 * _RECORD_BYTES]
    offsets.append(offsets[-1] + len(xorb_section))
    xorb_lookup = np.array(places, dtype=_XORB_PLACE).tobytes()
    chunk_lookup_at = offsets[-1] + len(xorb_lookup)
    footer_at = chunk_lookup_at + chunk_places.nbytes
    raw_bytes = sum(chunks.raw_bytes(0, len(chunks)) for _, chunks, _ in ordered)
    footer = struct.pack(
        "<9Q32s2Q48s4Q",
        _FOOTER_VERSION, *offsets, 0, offsets[-1], len(places), chunk_lookup_at, len(chunk_places),
        bytes(32), now_s, end_s, bytes(48), 0, 0, raw_bytes, footer_at,
    )  # fmt: skip
    header = _TAG + struct.pack("<QQ", _VERSION, _FOOTER_BYTES)
    return b"".join([header, end, xorb_section, xorb_lookup, chunk_places.tobytes(), footer])


def bad_shard(detail: str, hint: str = "Upload again.") -> Invalid:
    """The error for an invalid shard."""
    return Invalid("invalid_shard", f"The shard is damaged or forged: {detail}", hint)


class _Body:
    """Reads exact numbers of bytes from a stream, at most :data:`MAX_BYTES` in all."""

    def __init__(self, stream: Readable) -> None:
        self._stream = stream
        self._left = MAX_BYTES
        self._waiting = b""

    def take(self, length: int) -> bytes:
        if length > self._left:
            raise bad_shard(f"It says to be longer than the {MAX_BYTES} bytes a shard may have.")
        data = bytearray()
        while len(data) < length:
            if not self._waiting:
                self._waiting = self._stream.read(_PIECE_BYTES)
                if not self._waiting:
                    raise bad_shard("It is cut off.")
            missing = length - len(data)
            data += self._waiting[:missing]
            self._waiting = self._waiting[missing:]
        self._left -= length
        return bytes(data)

    def drain(self) -> None:
        left = self._left - len(self._waiting)
        while left >= 0 and (piece := self._stream.read(_PIECE_BYTES)):
            left -= len(piece)
        if left < 0:
            raise bad_shard(f"It is longer than the {MAX_BYTES} bytes a shard may have.")


def _entries(
    chunks: ChunkList, usable: npt.NDArray[np.bool_], record: int
) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
    """The records of a xorb's chunks, and the look-up entries of those that may be used."""
    records, count = chunks.records, len(chunks)
    entries = np.zeros(count, dtype=_CHUNK)
    entries["raw"] = records["raw"]
    entries["offset"] = np.cumsum(records["raw"], dtype=np.uint32) - records["raw"]
    entries["hash"][usable] = records["hash"][usable]
    lookup = np.empty(int(usable.sum()), dtype=_CHUNK_PLACE)
    words = np.frombuffer(chunks.hashes(0, count), dtype="<u8").reshape(count, 4)[:, 0]
    lookup["word"] = words[usable]
    lookup["record"] = record
    lookup["position"] = np.flatnonzero(usable)
    return entries, lookup


def _xorb_header(digest: bytes, chunks: ChunkList) -> bytes:
    count = len(chunks)
    _, packed = chunks.packed_span(0, count)
    return digest + struct.pack("<4I", 0, count, chunks.raw_bytes(0, count), packed)


def _word(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "little")
