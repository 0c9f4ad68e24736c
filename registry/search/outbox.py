"""Following the tables: which MLModels changed since an index last looked.

Services append an entry for every change, in the transaction that changes. An index remembers
its :class:`Cursor` and asks for what came after.

DANGER: on PostgreSQL the order of ids is not the order of commits. A transaction takes its id,
another takes the next one and commits first; whoever then reads "all ids above the last one
read" has stepped over the slower transaction for good. The cursor therefore keeps the *gaps*,
the ids below the last one that it has not seen, and asks for them again until they turn up or
are too old to be anything but transactions that were rolled back.
"""

import json
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from registry.tables import OutboxEntry

#: A transaction that stays open longer than this after writing its entry is not waited for.
GAP_LIFETIME_S = 15 * 60
#: Gaps kept; beyond, the oldest are given up. Rolled-back transactions make one each.
_MOST_GAPS = 500
#: A new index, which has read no entries, looks for gaps this far back.
_LOOK_BACK = 10_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far an index has read.

    Attributes:
        last_id: The highest id read; 0 before the first.
        mark: What the entry of that id says. A database in which it says something else has
            another history than the index (a restored backup, say).
        gaps: ``(first id, last id, Unix time when first missed)`` of unseen ids below.
    """

    last_id: int = 0
    mark: str = ""
    gaps: tuple[tuple[int, int, float], ...] = ()

    def dumps(self) -> bytes:
        """As JSON, for the index to keep."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def loads(cls, data: bytes) -> "Cursor":
        """Inverse of :meth:`dumps`."""
        fields = json.loads(data)
        gaps = tuple((first, last, since) for first, last, since in fields["gaps"])
        return cls(fields["last_id"], fields["mark"], gaps)


def tip() -> Cursor:
    """The cursor of an index that is about to read all MLModels.

    To be taken before they are read: what changes meanwhile is then read again, not missed.
    """
    newest = OutboxEntry.objects.order_by("-id").first()
    if newest is None:
        return Cursor()
    back = max(0, newest.pk - _LOOK_BACK)
    ids = OutboxEntry.objects.filter(id__gt=back, id__lte=newest.pk).order_by("id")
    gaps = _unseen(back + 1, newest.pk, time.time(), list(ids.values_list("id", flat=True)))
    return Cursor(newest.pk, _mark(newest), tuple(gaps)[-_MOST_GAPS:])


def belongs(cursor: Cursor) -> bool:
    """Whether this database is the one the cursor was read from."""
    if not cursor.last_id:
        return True
    entry = OutboxEntry.objects.filter(id=cursor.last_id).first()
    return entry is not None and _mark(entry) == cursor.mark


def has_news(cursor: Cursor) -> bool:
    """Whether :func:`read` would find entries."""
    return _unread(cursor).exists()


def read(cursor: Cursor, limit: int) -> tuple[set[UUID], Cursor]:
    """At most ``limit`` unread entries: the MLModels they name, and the cursor past them."""
    entries = list(_unread(cursor).order_by("id")[:limit])
    if not entries:
        return set(), cursor
    ids = [entry.pk for entry in entries]
    now = time.time()
    last = entries[-1] if ids[-1] > cursor.last_id else None
    ranges = [*cursor.gaps, (cursor.last_id + 1, ids[-1], now)]
    gaps = [gap for first, end, since in ranges for gap in _unseen(first, end, since, ids)]
    if len(entries) < limit:
        # Only now has every gap been looked into.
        gaps = [gap for gap in gaps if gap[2] > now - GAP_LIFETIME_S]
    return {entry.mlmodel_uuid for entry in entries}, Cursor(
        last.pk if last else cursor.last_id,
        _mark(last) if last else cursor.mark,
        tuple(gaps[-_MOST_GAPS:]),
    )


def _unread(cursor: Cursor) -> QuerySet[OutboxEntry]:
    wanted = Q(id__gt=cursor.last_id)
    for first, last, _ in cursor.gaps:
        wanted |= Q(id__range=(first, last))
    return OutboxEntry.objects.filter(wanted)


def _unseen(
    first: int, last: int, since: float, ids: list[int]
) -> Iterator[tuple[int, int, float]]:
    """The pieces of ``first..last`` between the ids seen; ``ids`` ascend."""
    start = first
    for seen in ids[bisect_left(ids, first) : bisect_right(ids, last)]:
        if seen > start:
            yield start, seen - 1, since
        start = seen + 1
    if start <= last:
        yield start, last, since


def _mark(entry: OutboxEntry) -> str:
    return f"{entry.mlmodel_uuid} {entry.at.isoformat()}"
