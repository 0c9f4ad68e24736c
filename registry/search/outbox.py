"""The outbox: MLModels that changed since an index last read it.

Services append an entry for each change, in the same transaction. An index stores a :class:`Cursor`
and reads the entries after it.

DANGER: on PostgreSQL the order of ids is not the order of commits. If a transaction takes an id and
another one takes the next id and commits first, then reading "all ids above the last one read"
misses the slower transaction for ever. The cursor therefore stores *gaps*, the unread ids below the
last one, and reads them again until they appear or are so old that they were rolled back.
"""

import json
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from registry.tables import OutboxEntry

#: Age after which a gap is taken for a transaction that was rolled back.
GAP_LIFETIME_S = 15 * 60
#: Upper bound on gaps; the oldest are dropped. Each rolled-back transaction leaves one.
_MOST_GAPS = 500
#: Number of newest ids in which a new index looks for gaps.
_LOOK_BACK = 10_000


@dataclass(frozen=True, slots=True)
class Cursor:
    """The entries that an index has read.

    Attributes:
        last_id: The highest id read; 0 before the first.
        mark: Content of that entry. If it differs in the database, the index belongs to another
            database, such as one before a backup was restored.
        gaps: ``(first id, last id, Unix time when first missed)`` of unread ids below.
    """

    last_id: int = 0
    mark: str = ""
    gaps: tuple[tuple[int, int, float], ...] = ()

    def dumps(self) -> bytes:
        """The cursor as JSON."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def loads(cls, data: bytes) -> "Cursor":
        """Inverse of :meth:`dumps`."""
        fields = json.loads(data)
        gaps = tuple((first, last, since) for first, last, since in fields["gaps"])
        return cls(fields["last_id"], fields["mark"], gaps)


def tip() -> Cursor:
    """The cursor for an index that is about to read all MLModels.

    Call it before they are read, so that concurrent changes are read again rather than missed.
    """
    newest = OutboxEntry.objects.order_by("-id").first()
    if newest is None:
        return Cursor()
    back = max(0, newest.pk - _LOOK_BACK)
    ids = OutboxEntry.objects.filter(id__gt=back, id__lte=newest.pk).order_by("id")
    gaps = _unseen(back + 1, newest.pk, time.time(), list(ids.values_list("id", flat=True)))
    return Cursor(newest.pk, _mark(newest), tuple(gaps)[-_MOST_GAPS:])


def belongs(cursor: Cursor) -> bool:
    """Whether the cursor was read from this database."""
    if not cursor.last_id:
        return True
    entry = OutboxEntry.objects.filter(id=cursor.last_id).first()
    return entry is not None and _mark(entry) == cursor.mark


def has_news(cursor: Cursor) -> bool:
    """Whether there are unread entries."""
    return _unread(cursor).exists()


def read(cursor: Cursor, limit: int) -> tuple[set[UUID], Cursor]:
    """The MLModels of at most ``limit`` unread entries, and the cursor after these."""
    entries = list(_unread(cursor).order_by("id")[:limit])
    if not entries:
        return set(), cursor
    ids = [entry.pk for entry in entries]
    now = time.time()
    last = entries[-1] if ids[-1] > cursor.last_id else None
    ranges = [*cursor.gaps, (cursor.last_id + 1, ids[-1], now)]
    gaps = [gap for first, end, since in ranges for gap in _unseen(first, end, since, ids)]
    if len(entries) < limit:
        # All gaps have been read.
        gaps = [gap for gap in gaps if gap[2] > now - GAP_LIFETIME_S]
    return {entry.mlmodel_uuid for entry in entries}, Cursor(
        last.pk if last else cursor.last_id,
        _mark(last) if last else cursor.mark,
        tuple(gaps[-_MOST_GAPS:]),
    )


def _unread(cursor: Cursor) -> QuerySet[OutboxEntry]:
    unread = Q(id__gt=cursor.last_id)
    for first, last, _ in cursor.gaps:
        unread |= Q(id__range=(first, last))
    return OutboxEntry.objects.filter(unread)


def _unseen(
    first: int, last: int, since: float, ids: list[int]
) -> Iterator[tuple[int, int, float]]:
    """Ranges of ``first..last`` that are not in ``ids``, which ascend."""
    start = first
    for seen in ids[bisect_left(ids, first) : bisect_right(ids, last)]:
        if seen > start:
            yield start, seen - 1, since
        start = seen + 1
    if start <= last:
        yield start, last, since


def _mark(entry: OutboxEntry) -> str:
    return f"{entry.mlmodel_uuid} {entry.at.isoformat()}"
