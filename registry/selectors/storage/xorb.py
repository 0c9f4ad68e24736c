"""Reads of xorbs: what is held of them, where, and who may use which of their chunks."""

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

#: How long a client may believe what it was told of other people's xorbs.
BELIEVED_FOR = timedelta(hours=24)

# Databases bound the number of values in one query.
_AT_ONCE = 500
# A file's xorbs mostly follow one another; a list of chunks has some 40 kB.
_XORBS_AT_HAND = 64
# Of one chunk's xorbs, so many are looked at; of one answer's, so many are told: 16 GiB or so.
_PLACES, _TOLD = 16, 256


@dataclass(frozen=True, slots=True)
class Run:
    """Chunks ``first`` to before ``end`` lie in ``blob`` from ``offset`` on."""

    first: int
    end: int
    blob: str
    offset: int


@dataclass(frozen=True, slots=True)
class Holding:
    """What the hub holds of a xorb, and what of that somebody may use.

    Attributes:
        payload: The blob with all its chunks packed, while that is kept.
        runs: Where else its chunks lie.
        usable: For each chunk, whether it is here and the asker may use it. They may use all of
            a xorb they sent, and whatever lies in a blob they may name in a commit: otherwise
            knowing hashes would be enough to read somebody's private file.
    """

    hash: str
    chunks: ChunkList
    payload: str | None
    runs: tuple[Run, ...]
    usable: npt.NDArray[np.bool_]

    def extents(self, first: int, end: int) -> Iterator[Extent]:
        """Where the chunks from ``first`` to before ``end`` are to be read.

        From a file rather than from the payload: there they need no unpacking.

        Raises:
            NotFound: ``xorb_not_found`` if one is nowhere.
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
    """Hash to holding for those of ``hashes`` that are known."""
    found: dict[str, Holding] = {}
    wanted = list(hashes)
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        runs = runs_of(some)
        blobs = {run.blob for of_xorb in runs.values() for run in of_xorb}
        usable, sent = set(blobs_usable(actor, blobs)), _sent(actor, some)
        rows = Xorb.objects.filter(hash__in=some)
        for key, records, payload in rows.values_list("hash", "chunks", "payload"):
            chunks, own = ChunkList(records), runs.get(key, ())
            may = own if actor is None or key in sent else [r for r in own if r.blob in usable]
            mask = covered(len(chunks), may)
            if payload is not None:
                # Packed chunks may be used like those that lie in files.
                mask |= actor is None or key in sent
            found[key] = Holding(key, chunks, payload, tuple(own), mask)
    return found


class Shelf:
    """What the hub holds of xorbs for one person; those used last are at hand."""

    def __init__(self, actor: Actor) -> None:
        self._actor = actor
        self._at_hand: OrderedDict[str, Holding] = OrderedDict()

    def get(self, xorb_hash: str) -> Holding:
        """Raises ``NotFound`` ``xorb_not_found``."""
        holding = self._at_hand.pop(xorb_hash, None)
        holding = holding or holdings(self._actor, [xorb_hash]).get(xorb_hash)
        if holding is None:
            raise xorb_missing(xorb_hash)
        self._at_hand[xorb_hash] = holding
        if len(self._at_hand) > _XORBS_AT_HAND:
            self._at_hand.popitem(last=False)
        return holding


def runs_of(hashes: Collection[str]) -> dict[str, list[Run]]:
    """Where chunks of these xorbs lie in files, by the xorb's hash."""
    found: dict[str, list[Run]] = {}
    rows = XorbRun.objects.filter(xorb__in=hashes, blob__condemned_at=None)
    for xorb, first, end, blob, offset in rows.values_list(
        "xorb_id", "first", "end", "blob_id", "offset"
    ):
        found.setdefault(xorb, []).append(Run(first, end, blob, offset))
    return found


def covered(count: int, runs: Collection[Run]) -> npt.NDArray[np.bool_]:
    """For each of ``count`` chunks, whether one of ``runs`` has it."""
    mask = np.zeros(count, dtype=np.bool_)
    for run in runs:
        mask[run.first : run.end] = True
    return mask


def xorb_missing(digest: str) -> NotFound:
    """The refusal to use chunks of a xorb that are not here, or not for this person."""
    return NotFound(
        "xorb_not_found",
        f"Chunks of the xorb {digest} are not here, or not yours to use.",
        "Upload again: your client then sends them anew.",
    )


def shard_about(
    actor: Actor, mlmodel: MLModel, chunk: bytes, *, now: datetime
) -> tuple[bytes, list[str]] | None:
    """What a client that has ``chunk`` may dedup against, as a shard; ``None`` if nothing.

    The answer tells of the chunk's xorb and of those that lie behind it in the same file, or,
    while no file has it, of those the actor sent to ``mlmodel`` and has not used yet: so an
    upload that was cut off goes on where it ended, whatever the client remembers.

    Returns:
        The shard, and the blobs that must stay for it to be true.
    """
    places = XorbChunk.objects.filter(hash=spelled(chunk)).order_by("-id")
    rows = list(places.values_list("xorb", "position")[:_PLACES])
    held = holdings(actor, [xorb for xorb, _ in rows])
    for xorb, position in rows:
        if xorb in held and held[xorb].usable[position]:
            kin = _kin(actor, mlmodel, held[xorb], position)
            told = [holding for holding in kin.values() if holding.usable.any()]
            end = now + BELIEVED_FOR
            xorbs = [(_digest(holding), holding.chunks, holding.usable) for holding in told]
            shard = write_shard(xorbs, now_s=int(now.timestamp()), end_s=int(end.timestamp()))
            return shard, sorted({run.blob for holding in told for run in holding.runs})
    return None


def _kin(actor: Actor, mlmodel: MLModel, holding: Holding, position: int) -> dict[str, Holding]:
    usable = set(blobs_usable(actor, {run.blob for run in holding.runs}))
    for run in holding.runs:
        if run.blob in usable and run.first <= position < run.end:
            behind = XorbRun.objects.filter(blob=run.blob, offset__gte=run.offset)
            rows = behind.order_by("offset").values_list("xorb_id", flat=True)
            hashes = list(rows[: 4 * _TOLD])
            break
    else:
        own = XorbUpload.objects.filter(mlmodel=mlmodel, user=person(actor))
        waiting = own.exclude(xorb__payload=None).order_by("-id")
        hashes = list(waiting.values_list("xorb_id", flat=True)[:_TOLD])
    return holdings(actor, list(dict.fromkeys([holding.hash, *hashes]))[:_TOLD])


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
