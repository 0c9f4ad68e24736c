"""Chunks of large files that did not arrive by Xet: found once, so that Xet can download them.

A file is read in the background and split where clients would split it
(:mod:`registry.xet.gear`). Chunks that an earlier file of the same repository has keep their
xorb: a client that downloaded that file has them. The others make up new xorbs, which are never
stored: their bytes are those of the file. Only the list of chunks is recorded.
"""

from collections.abc import Collection
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from registry.dispatch import notify_chunking
from registry.selectors.storage.blob import blob_open
from registry.services.audit import audit
from registry.services.storage.blob import blobs_hold
from registry.services.storage.locks import attempt
from registry.tables import Blob, File, XetFile, Xorb, XorbChunk, XorbRun
from registry.xet import gear
from registry.xet.chunks import ChunkList, chunk_records
from registry.xet.hashes import MerkleTree, chunk_hash, file_hash, is_sampled, spelled
from registry.xet.packing import HEADER_BYTES
from registry.xet.xorb import MAX_CHUNKS, MAX_RAW_BYTES

#: Bytes that one run of the background task reads, unless a single file is larger.
BYTES_AT_ONCE = 16 * 2**30
_BLOBS_AT_ONCE = 500
# Earlier chunks are looked up in memory: some 40 MB for this number of xorbs.
_MOST_EARLIER_XORBS = 256


@dataclass(slots=True)
class _NewXorb:
    """Chunks that no earlier file has: hash, raw and packed bytes of each."""

    chunks: list[tuple[bytes, int, int]] = field(default_factory=list)
    raw_bytes: int = 0
    tree: MerkleTree = field(default_factory=MerkleTree)

    def has_room(self, length: int) -> bool:
        return len(self.chunks) < MAX_CHUNKS and self.raw_bytes + length <= MAX_RAW_BYTES

    def add(self, digest: bytes, length: int) -> None:
        self.chunks.append((digest, length, length + HEADER_BYTES))
        self.raw_bytes += length
        self.tree.add(digest, length)


@dataclass(slots=True)
class _Span:
    """Chunks ``first`` to ``end`` (exclusive) of a xorb at byte ``offset`` of the file."""

    xorb: str | _NewXorb
    first: int
    end: int
    offset: int


def blobs_chunk(*, most_bytes: int = BYTES_AT_ONCE) -> int:
    """Find the chunks of large files without a Xet hash, oldest first; the number of files.

    Stops after ``most_bytes``. One process of the hub does it at a time: another one returns 0.
    """
    with attempt("chunking") as alone:
        count, left = 0, most_bytes if alone else 0
        while left > 0 and (blob := _unchunked()) is not None:
            blob_chunk(blob)
            count, left = count + 1, left - blob.size_bytes
    return count


def blob_chunk(blob: Blob) -> str:
    """Find and record the chunks of ``blob``; its Xet hash. Idempotent.

    Raises ``NotFound`` ``blob_not_found``; ``Invalid`` ``blob_missing`` if it is deleted meanwhile.
    """
    earlier = _EarlierChunks(blob)
    spans: list[_Span] = []
    xorbs: list[_NewXorb] = []
    file, offset = MerkleTree(), 0
    with blob_open(blob) as stream:
        for chunk in gear.split(stream):
            digest, length = chunk_hash(chunk), len(chunk)
            file.add(digest, length)
            place: tuple[str | _NewXorb, int] | None
            place = earlier.place(digest, spans[-1] if spans else None)
            if place is None:
                if not xorbs or not xorbs[-1].has_room(length):
                    xorbs.append(_NewXorb())
                place = xorbs[-1], len(xorbs[-1].chunks)
                xorbs[-1].add(digest, length)
            _append(spans, place, offset)
            offset += length
    xet_hash = spelled(file_hash(file.root()))
    _record(blob, xet_hash, spans, xorbs)
    return xet_hash


def _append(spans: list[_Span], place: tuple[str | _NewXorb, int], offset: int) -> None:
    xorb, position = place
    last = spans[-1] if spans else None
    if last is not None and last.xorb is xorb and last.end == position:
        last.end += 1
    else:
        spans.append(_Span(xorb, position, position + 1, offset))


class _EarlierChunks:
    """Chunks of files at the same paths of the same repositories, by their hash."""

    def __init__(self, blob: Blob) -> None:
        here = File.objects.filter(blob=blob, series__mlmodel=OuterRef("series__mlmodel"))
        same = Exists(here.filter(path=OuterRef("path")))
        others = File.objects.filter(same).exclude(blob=blob).values("blob")
        runs = XorbRun.objects.filter(blob__in=others, blob__condemned_at=None)
        keys = list(dict.fromkeys(runs.order_by("-pk").values_list("xorb_id", flat=True)))
        keys = keys[:_MOST_EARLIER_XORBS]
        rows = Xorb.objects.filter(hash__in=keys).values_list("hash", "chunks")
        self._hashes: dict[str, list[bytes]] = {}
        self._places: dict[bytes, tuple[str, int]] = {}
        for key, records in rows:
            chunks = ChunkList(records)
            self._hashes[key] = [record.tobytes() for record in chunks.records["hash"]]
            self._places |= {
                digest: (key, position) for position, digest in enumerate(self._hashes[key])
            }

    def place(self, digest: bytes, last: _Span | None) -> tuple[str, int] | None:
        """Xorb and position of a chunk; rather behind ``last``, which makes longer runs."""
        if last is not None and isinstance(last.xorb, str):
            hashes = self._hashes[last.xorb]
            if last.end < len(hashes) and hashes[last.end] == digest:
                return last.xorb, last.end
        return self._places.get(digest)


def _record(blob: Blob, xet_hash: str, spans: list[_Span], xorbs: list[_NewXorb]) -> None:
    now = timezone.now()
    names = {id(xorb): spelled(xorb.tree.root()) for xorb in xorbs}
    runs = [
        XorbRun(
            xorb_id=span.xorb if isinstance(span.xorb, str) else names[id(span.xorb)],
            first=span.first,
            end=span.end,
            blob=blob,
            offset=span.offset,
        )
        for span in spans
    ]
    with transaction.atomic():
        blobs_hold([blob.sha256])
        # An equal xorb that a client sent keeps its list, which describes its payload.
        Xorb.objects.bulk_create(
            [
                Xorb(
                    hash=names[id(xorb)],
                    chunks=chunk_records(xorb.chunks),
                    chunk_count=len(xorb.chunks),
                    used_at=now,
                )
                for xorb in xorbs
            ],
            ignore_conflicts=True,
            batch_size=100,
        )
        XorbRun.objects.bulk_create(runs, ignore_conflicts=True, batch_size=500)
        XorbChunk.objects.bulk_create(
            [
                XorbChunk(hash=spelled(digest), xorb_id=names[id(xorb)], position=position)
                for xorb in xorbs
                for position, (digest, _, _) in enumerate(xorb.chunks)
                if position == 0 or is_sampled(digest)
            ],
            ignore_conflicts=True,
            batch_size=500,
        )
        XetFile.objects.bulk_create([XetFile(hash=xet_hash, blob=blob)], ignore_conflicts=True)
        Blob.objects.filter(pk=blob.pk).update(awaits_chunks=False)
        audit(None, "blob.chunk", blob.sha256, detail={"new_xorbs": len(xorbs)})


def chunks_await(sha256s: Collection[str]) -> None:
    """Let :func:`blobs_chunk` find the chunks of these blobs of large files.

    Called in the transaction that commits them.
    """
    ordered = sorted(sha256s)
    for start in range(0, len(ordered), _BLOBS_AT_ONCE):
        some = Blob.objects.filter(pk__in=ordered[start : start + _BLOBS_AT_ONCE])
        has_hash = XetFile.objects.filter(blob=OuterRef("pk"))
        some.filter(~Exists(has_hash), size_bytes__gt=0).update(awaits_chunks=True)
    notify_chunking()


def _unchunked() -> Blob | None:
    rows = Blob.objects.filter(awaits_chunks=True, condemned_at=None)
    return rows.order_by("created_at", "pk").first()
