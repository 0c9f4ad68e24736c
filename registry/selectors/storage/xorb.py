"""Reads of xorbs: location of their chunks, and which of them an actor may use."""

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import numpy.typing as npt

from registry.errors import NotFound
from registry.selectors.access import Actor, person
from registry.selectors.storage.blob import blobs_usable
from registry.tables import MLModel, Xorb, XorbChunk, XorbRun, XorbUpload
from registry.xet.assembly import Extent
from registry.xet.chunks import ChunkList
from registry.xet.hashes import parsed, spelled
from registry.xet.shard import write_shard

#: Validity of the shard that answers a chunk query.
VALIDITY = timedelta(hours=24)

# Databases bound the number of values in one query.
_AT_ONCE = 500
# Size of the cache: accesses to a file's xorbs are mostly sequential; a chunk list has some 40 kB.
_CACHED_XORBS = 64
# Maximum number of xorbs considered for one chunk, and of xorbs in one answer (some 16 GiB).
_MOST_CANDIDATES, _MOST_ANSWERED = 16, 256


@dataclass(frozen=True, slots=True)
class Run:
    """Chunks ``first`` to ``end`` (exclusive) are in ``blob`` from byte ``offset`` on."""

    first: int
    end: int
    blob: str
    offset: int


@dataclass(frozen=True, slots=True)
class Holding:
    """The chunks of a xorb that the hub has, and those that an actor may use.

    Attributes:
        payload: The blob with all chunks packed, while that is stored.
        runs: Locations of chunks in files.
        usable: For each chunk, whether it is stored and the actor may use it: all of a xorb that
            they sent, and chunks in blobs that they may name in a commit. Otherwise knowing hashes
            would be enough to read a private file.
    """

    hash: str
    chunks: ChunkList
    payload: str | None
    runs: tuple[Run, ...]
    usable: npt.NDArray[np.bool_]

    def extents(self, first: int, end: int) -> Iterator[Extent]:
        """The locations of the chunks from ``first`` to ``end`` (exclusive), in order.

        Files take precedence over the payload, since their chunks need no unpacking. Raises
        ``NotFound``: ``xorb_not_found`` if a chunk is not stored.
        """
        at = first
        while at < end:
            covering = (run for run in self.runs if run.first <= at < run.end)
            run = max(covering, key=lambda run: run.end, default=None)
            if run is not None:
                stop = min(end, run.end)
                offset = run.offset + self.chunks.raw_bytes(run.first, at)
                yield Extent(run.blob, offset, self.chunks.raw_bytes(at, stop), packed=False)
            elif self.payload is not None:
                stop = end
                yield Extent(self.payload, *self.chunks.packed_span(at, stop), packed=True)
            else:
                raise xorb_missing(self.hash)
            at = stop


def holdings(actor: Actor, hashes: Collection[str]) -> dict[str, Holding]:
    """Hash to holding for those of ``hashes`` that the hub knows."""
    result: dict[str, Holding] = {}
    ordered = list(hashes)
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        runs = runs_of(some)
        blobs = {run.blob for of_xorb in runs.values() for run in of_xorb}
        usable, sent = set(blobs_usable(actor, blobs)), _sent(actor, some)
        rows = Xorb.objects.filter(hash__in=some)
        for key, records, payload in rows.values_list("hash", "chunks", "payload"):
            chunks, own = ChunkList(records), runs.get(key, ())
            may_use_all = actor is None or key in sent
            mask = covered(len(chunks), [r for r in own if may_use_all or r.blob in usable])
            if payload is not None:
                mask |= may_use_all
            result[key] = Holding(key, chunks, payload, tuple(own), mask)
    return result


class HoldingCache:
    """Least-recently-used cache of :func:`holdings` for one actor."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._holdings: OrderedDict[str, Holding] = OrderedDict()

    def get(self, xorb_hash: str) -> Holding:
        """The holding of that xorb. Raises ``NotFound``: ``xorb_not_found``."""
        holding = self._holdings.pop(xorb_hash, None)
        holding = holding or holdings(self._actor, [xorb_hash]).get(xorb_hash)
        if holding is None:
            raise xorb_missing(xorb_hash)
        self._holdings[xorb_hash] = holding
        if len(self._holdings) > _CACHED_XORBS:
            self._holdings.popitem(last=False)
        return holding


def runs_of(hashes: Collection[str]) -> dict[str, list[Run]]:
    """Xorb's hash to the locations of its chunks in files."""
    runs: dict[str, list[Run]] = {}
    rows = XorbRun.objects.filter(xorb__in=hashes, blob__condemned_at=None)
    for xorb, first, end, blob, offset in rows.values_list(
        "xorb_id", "first", "end", "blob_id", "offset"
    ):
        runs.setdefault(xorb, []).append(Run(first, end, blob, offset))
    return runs


def covered(count: int, runs: Collection[Run]) -> npt.NDArray[np.bool_]:
    """For each of ``count`` chunks, whether one of ``runs`` contains it; shape ``(count,)``."""
    mask = np.zeros(count, dtype=np.bool_)
    for run in runs:
        mask[run.first : run.end] = True
    return mask


def xorb_missing(digest: str) -> NotFound:
    """The error for chunks of a xorb that are missing, or that the actor may not use."""
    return NotFound(
        "xorb_not_found",
        f"Chunks of the xorb {digest} are not here, or not yours to use.",
        "Upload again: your client then sends them anew.",
    )


def shard_about(
    actor: Actor, mlmodel: MLModel, chunk: bytes, *, now: datetime
) -> tuple[bytes, list[str]] | None:
    """A shard of chunks that a client with ``chunk`` may deduplicate against, or ``None``.

    It describes the chunk's xorb and those that follow it in the same file or, while no file
    contains the chunk, those that the actor sent to ``mlmodel`` and that no file uses yet: an
    interrupted upload then continues where it ended, whatever the client remembers.

    Returns:
        The shard, and the digests of the blobs that must not be deleted while it is valid.
    """
    candidates = XorbChunk.objects.filter(hash=spelled(chunk)).order_by("-id")
    rows = list(candidates.values_list("xorb", "position")[:_MOST_CANDIDATES])
    held = holdings(actor, [xorb for xorb, _ in rows])
    for xorb, position in rows:
        if xorb in held and held[xorb].usable[position]:
            related = _related(actor, mlmodel, held[xorb], position).values()
            usable = [holding for holding in related if holding.usable.any()]
            end = now + VALIDITY
            xorbs = [(_digest(holding), holding.chunks, holding.usable) for holding in usable]
            shard = write_shard(xorbs, now_s=int(now.timestamp()), end_s=int(end.timestamp()))
            return shard, sorted({run.blob for holding in usable for run in holding.runs})
    return None


def _related(actor: Actor, mlmodel: MLModel, holding: Holding, position: int) -> dict[str, Holding]:
    """Holdings of the xorbs that :func:`shard_about` describes."""
    usable = set(blobs_usable(actor, {run.blob for run in holding.runs}))
    for run in holding.runs:
        if run.blob in usable and run.first <= position < run.end:
            behind = XorbRun.objects.filter(blob=run.blob, offset__gte=run.offset)
            rows = behind.order_by("offset").values_list("xorb_id", flat=True)
            hashes = list(rows[: 4 * _MOST_ANSWERED])
            break
    else:
        own = XorbUpload.objects.filter(mlmodel=mlmodel, user=person(actor))
        waiting = own.exclude(xorb__payload=None).order_by("-id")
        hashes = list(waiting.values_list("xorb_id", flat=True)[:_MOST_ANSWERED])
    return holdings(actor, list(dict.fromkeys([holding.hash, *hashes]))[:_MOST_ANSWERED])


def _sent(actor: Actor, hashes: Collection[str]) -> set[str]:
    user = person(actor)
    if user is None:
        return set()
    rows = XorbUpload.objects.filter(user=user, xorb__in=hashes)
    return set(rows.values_list("xorb", flat=True))


def _digest(holding: Holding) -> bytes:
    digest = parsed(holding.hash)
    if digest is None:
        raise ValueError(f"{holding.hash!r} is no hash")
    return digest
