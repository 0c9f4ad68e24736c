"""Reads for downloads by Xet: which chunks of which xorbs make up a file, and their bytes.

Files are stored whole. A *term* is a run of chunks of a xorb that lies in the file, and a *fetch* a
range of chunks of a xorb that clients request at once. The bytes of a fetch are always taken from
the file that is downloaded, never from another one that contains the same chunks: who may read the
file may read them.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from registry.errors import NotFound
from registry.selectors.storage.blob import AT_ONCE
from registry.selectors.storage.xorb import Holding, Run, covered
from registry.storage import blob_store
from registry.tables import Blob, File, MLModel, Revision, XetFile, Xorb, XorbRun
from registry.xet.assembly import Assembly
from registry.xet.chunks import ChunkList
from registry.xet.framing import FramedChunks
from registry.xet.packing import HEADER_BYTES


@dataclass(frozen=True, slots=True)
class FileTerm:
    """Chunks ``first`` to ``end`` (exclusive) of a xorb, ``raw_bytes`` at ``offset`` of a file."""

    xorb: str
    first: int
    end: int
    offset: int
    raw_bytes: int


@dataclass(frozen=True, slots=True)
class ChunkFetch:
    """Chunks ``first`` to ``end`` (exclusive) of a xorb, ``size_bytes`` with their headers."""

    xorb: str
    first: int
    end: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Reconstruction:
    """How to assemble a range of a file.

    Attributes:
        skip_bytes: Bytes of the first term that precede the requested range.
        terms: In the order of the file; the last may exceed the requested range.
        fetches: All chunks of the terms, disjoint within a xorb: clients require it.
    """

    skip_bytes: int
    terms: list[FileTerm]
    fetches: list[ChunkFetch]


def xet_hashes(sha256s: Collection[str]) -> dict[str, str]:
    """Digest to Xet hash for those of ``sha256s`` that can be downloaded by Xet."""
    hashes: dict[str, str] = {}
    ordered = list(dict.fromkeys(sha256s))
    for start in range(0, len(ordered), AT_ONCE):
        rows = XetFile.objects.filter(blob__in=ordered[start : start + AT_ONCE])
        # A file may have been uploaded in other chunks, too; the lowest hash is always the same.
        hashes |= dict(rows.order_by("-hash").values_list("blob", "hash"))
    return hashes


def xet_file_get(mlmodel: MLModel, xet_hash: str) -> tuple[File, Revision]:
    """The newest file of ``mlmodel`` with that Xet hash, and the newest revision that has it.

    The file comes with its blob. Raises ``NotFound``: ``file_not_found``.
    """
    blobs = XetFile.objects.filter(hash=xet_hash, blob__condemned_at=None).values("blob")
    rows = File.objects.filter(series__mlmodel=mlmodel, blob__in=blobs)
    file = rows.select_related("blob").order_by("-pk").first()
    revision = file.revisions.order_by("-position").first() if file else None
    if file is None or revision is None:
        raise NotFound("file_not_found", f"{mlmodel.full_name} has no file {xet_hash[:100]}.")
    return file, revision


def reconstruction(blob: Blob, start: int, end: int) -> Reconstruction:
    """How to assemble the bytes from ``start`` to ``end`` (exclusive) of ``blob``.

    Raises ``NotFound``: ``xorb_not_found`` if the locations of its chunks are not recorded.
    """
    chain = _chain(blob)
    low = bisect_right(chain, start, key=lambda term: term.offset) - 1
    touched = [term for term in chain[low:] if term.offset < end]
    lists = _chunk_lists({term.xorb for term in touched})
    terms = [_trimmed(term, lists[term.xorb], start, end) for term in touched]
    fetches = [
        ChunkFetch(xorb, first, last, _framed_bytes(lists[xorb], first, last))
        for xorb, first, last in _merged(terms)
    ]
    return Reconstruction(start - terms[0].offset, terms, fetches)


def chunks_of(blob: Blob) -> Iterator[tuple[bytes, int]]:
    """Hash and length in bytes of each chunk of ``blob``, in order.

    Raises ``NotFound``: ``xorb_not_found`` if its chunks are not recorded.
    """
    chain = _chain(blob)
    lists = _chunk_lists({term.xorb for term in chain})
    for term in chain:
        records = lists[term.xorb].records[term.first : term.end]
        for digest, length in zip(records["hash"], records["raw"].tolist(), strict=True):
            yield digest.tobytes(), length


def chunks_open(sha256: str, xorb: str, first: int, end: int, *, skip: int) -> FramedChunks:
    """The chunks ``first`` to ``end`` (exclusive) of a xorb, with headers, from blob ``sha256``.

    ``skip`` leading bytes are left out. The caller closes. Raises ``NotFound``: ``xorb_not_found``
    if the blob does not contain them; ``blob_not_found``.
    """
    rows = XorbRun.objects.filter(xorb=xorb, blob=sha256, blob__condemned_at=None)
    runs = tuple(Run(*row) for row in rows.values_list("first", "end", "blob_id", "offset"))
    chunks = _chunk_lists([xorb])[xorb]
    holding = Holding(xorb, chunks, None, runs, covered(len(chunks), runs))
    at = first
    while at < end and (length := _framed_bytes(chunks, at, at + 1)) <= skip:
        at, skip = at + 1, skip - length
    raw = Assembly(holding.extents(at, end), blob_store().open)
    return FramedChunks(raw, chunks.lengths(at, end), skip=skip)


def _chain(blob: Blob) -> list[FileTerm]:
    """Terms that follow each other from the beginning to the end of ``blob``.

    The runs of one upload do. There are others if the same bytes were uploaded again, in other
    xorbs or, by an unusual client, in other chunks: these are left out.
    """
    rows = list(
        XorbRun.objects.filter(blob=blob)
        .order_by("offset", "pk")
        .values_list("xorb_id", "first", "end", "offset")
    )
    offsets = [offset for *_, offset in rows]
    if len(set(offsets)) == len(rows):
        ends = [*offsets[1:], blob.size_bytes]
        lengths = [after - at for at, after in zip(offsets, ends[: len(offsets)], strict=True)]
    else:
        lists = _chunk_lists({xorb for xorb, *_ in rows})
        lengths = [lists[xorb].raw_bytes(first, end) for xorb, first, end, _ in rows]
    terms = [FileTerm(*row, length) for row, length in zip(rows, lengths, strict=True)]
    leading: dict[int, FileTerm] = {}
    for term in reversed(terms):
        after = term.offset + term.raw_bytes
        if after == blob.size_bytes or after in leading:
            leading[term.offset] = term
    chain, at = [], 0
    while at < blob.size_bytes:
        if at not in leading:
            raise NotFound("xorb_not_found", f"The chunks of {blob.sha256} are not recorded.")
        chain.append(leading[at])
        at += leading[at].raw_bytes
    return chain


def _trimmed(term: FileTerm, chunks: ChunkList, start: int, end: int) -> FileTerm:
    """``term`` without the chunks that lie outside the bytes from ``start`` to ``end``."""
    lengths = chunks.lengths(term.first, term.end)
    first, last, offset, raw_bytes = term.first, term.end, term.offset, term.raw_bytes
    while offset + lengths[first - term.first] <= start:
        offset += lengths[first - term.first]
        raw_bytes -= lengths[first - term.first]
        first += 1
    while offset + raw_bytes - lengths[last - 1 - term.first] >= end:
        raw_bytes -= lengths[last - 1 - term.first]
        last -= 1
    return FileTerm(term.xorb, first, last, offset, raw_bytes)


def _merged(terms: Iterable[FileTerm]) -> Iterator[tuple[str, int, int]]:
    """Xorb, first and end of the ranges that contain all chunks of ``terms``, disjoint."""
    ranges: dict[str, list[tuple[int, int]]] = {}
    for term in terms:
        ranges.setdefault(term.xorb, []).append((term.first, term.end))
    for xorb, ordered in ranges.items():
        ordered.sort()
        first, end = ordered[0]
        for next_first, next_end in ordered[1:]:
            if next_first > end:
                yield xorb, first, end
                first, end = next_first, next_end
            end = max(end, next_end)
        yield xorb, first, end


def _chunk_lists(xorbs: Collection[str]) -> dict[str, ChunkList]:
    lists: dict[str, ChunkList] = {}
    ordered = list(xorbs)
    for start in range(0, len(ordered), AT_ONCE):
        rows = Xorb.objects.filter(hash__in=ordered[start : start + AT_ONCE])
        lists |= {key: ChunkList(records) for key, records in rows.values_list("hash", "chunks")}
    missing = set(ordered) - set(lists)
    if missing:
        raise NotFound("xorb_not_found", f"The xorb {min(missing)} is not stored.")
    return lists


def _framed_bytes(chunks: ChunkList, first: int, end: int) -> int:
    return chunks.raw_bytes(first, end) + (end - first) * HEADER_BYTES
