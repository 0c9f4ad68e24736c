"""Public records for harvesters and crawlers.

There is one record per model and data set, with the identifier of all its versions together and the
description of the newest. It changes with a commit or a setting; new builds are included with the
next such change. Withdrawn and hidden repositories are listed for ever as deleted records without
metadata.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple, cast

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet
from django.utils import timezone

from registry.errors import NotFound
from registry.fair.oai.provider import OaiRecord
from registry.pagination import row_after
from registry.selectors.access import readable_repositories
from registry.selectors.fair.catalog import MAX_COUNT
from registry.selectors.fair.description import describe_many
from registry.selectors.fair.identifier import ceased, pid_url
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSelection:
    """Records of one kind, changed from ``since`` to ``until`` inclusive, in whole seconds."""

    kind: RepositoryKind | None = None
    since: datetime | None = None
    until: datetime | None = None


class HarvestCursor(NamedTuple):
    """Position of a record in the order of lists."""

    changed: datetime
    is_gone: bool
    pk: int


@dataclass(frozen=True, slots=True)
class HarvestPart:
    """Some records, oldest change first; there are more if ``last`` is not ``None``."""

    records: list[OaiRecord]
    last: HarvestCursor | None


def harvest_part(
    selection: HarvestSelection, *, after: HarvestCursor | None = None, limit: int, is_whole: bool
) -> HarvestPart:
    """The next ``limit`` records, with descriptions if ``is_whole``, in a fixed number of queries.

    Records that change during a harvest are listed again at its end.
    """
    by_cursor: dict[HarvestCursor, MLModel | Identifier] = {}
    # Each kind has an index in the order of lists.
    for one in _of_each_kind(selection):
        live, gone = _live(one), _gone(one)
        if after is not None:
            live, gone = _live_after(live, after), _gone_after(gone, after)
        for row in live.select_related("namespace").order_by("updated_at", "pk")[: limit + 1]:
            by_cursor[HarvestCursor(row.updated_at, is_gone=False, pk=row.pk)] = row
        for tombstone in gone.order_by("gone_at", "pk")[: limit + 1]:
            cursor = HarvestCursor(_gone_at(tombstone), is_gone=True, pk=tombstone.pk)
            by_cursor[cursor] = tombstone
    cursors = sorted(by_cursor)
    rows = [by_cursor[cursor] for cursor in cursors[:limit]]
    living = _living([row for row in rows if isinstance(row, MLModel)], is_whole=is_whole)
    records = [living.get(row.pk) if isinstance(row, MLModel) else _deleted(row) for row in rows]
    return HarvestPart(
        [record for record in records if record is not None],
        cursors[limit - 1] if len(cursors) > limit else None,
    )


def harvest_count(selection: HarvestSelection) -> int | None:
    """Number of selected records; ``None`` if there are more than :data:`MAX_COUNT`."""
    count = 0
    for one in _of_each_kind(selection):
        for rows in (_live(one), _gone(one)):
            count += rows.order_by()[: MAX_COUNT + 1].count()
            if count > MAX_COUNT:
                return None
    return count


def harvest_get(pid: str) -> OaiRecord:
    """The record with this identifier, which is written as in lists.

    Raises ``NotFound``: ``identifier_not_found``.
    """
    named = Identifier.objects.defer("description").filter(kind=IdentifierKind.CONCEPT)
    name = pid.removeprefix(pid_url(""))
    # Other texts may contain characters that PostgreSQL rejects.
    row = named.filter(name=name).first() if name.isalnum() else None
    if row is not None and pid == pid_url(row.name):
        live = list(_live(HarvestSelection()).filter(identifiers=row).select_related("namespace"))
        for record in _living(live, is_whole=True).values():
            return record
        if _gone(HarvestSelection()).filter(pk=row.pk).exists():
            return _deleted(row)
    raise NotFound(
        "identifier_not_found",
        f"No model or data set has the identifier {pid[:200]!r}.",
        "ListIdentifiers lists all identifiers.",
    )


def harvest_begin() -> datetime:
    """Time of the earliest change of any record."""
    times: list[datetime | None] = []
    for one in _of_each_kind(HarvestSelection()):
        changed = _live(one).order_by("updated_at").values_list("updated_at", flat=True)
        gone = _gone(one).order_by("gone_at").values_list("gone_at", flat=True)
        times += [changed.first(), gone.first()]
    return min((at for at in times if at is not None), default=timezone.now())


def _of_each_kind(selection: HarvestSelection) -> list[HarvestSelection]:
    kinds = list(RepositoryKind) if selection.kind is None else [selection.kind]
    return [replace(selection, kind=kind) for kind in kinds]


def _live_after(rows: QuerySet[MLModel], after: HarvestCursor) -> QuerySet[MLModel]:
    # Of equal times, deleted records come last.
    if after.is_gone:
        return rows.filter(updated_at__gt=after.changed)
    return rows.filter(row_after(("updated_at", "id"), (after.changed, after.pk)))


def _gone_after(rows: QuerySet[Identifier], after: HarvestCursor) -> QuerySet[Identifier]:
    if after.is_gone:
        return rows.filter(row_after(("gone_at", "id"), (after.changed, after.pk)))
    return rows.filter(gone_at__gte=after.changed)


def _live(selection: HarvestSelection) -> QuerySet[MLModel]:
    rows = readable_repositories(AnonymousUser())
    if selection.kind is not None:
        rows = rows.filter(kind=selection.kind)
    if selection.since is not None:
        rows = rows.filter(updated_at__gte=selection.since)
    if selection.until is not None:
        rows = rows.filter(updated_at__lte=_end_of(selection.until))
    return rows


def _gone(selection: HarvestSelection) -> QuerySet[Identifier]:
    """Identifiers of formerly public repositories, without kept records."""
    named = Identifier.objects.defer("description").filter(kind=IdentifierKind.CONCEPT)
    rows = ceased(named, selection.since)
    if selection.kind is not None:
        rows = rows.filter(repository_kind=selection.kind)
    if selection.until is not None:
        rows = rows.filter(gone_at__lte=_end_of(selection.until))
    return rows


def _gone_at(row: Identifier) -> datetime:
    return cast("datetime", row.gone_at)


def _end_of(second: datetime) -> datetime:
    return second.replace(microsecond=999_999)


def _living(rows: Sequence[MLModel], *, is_whole: bool) -> dict[int, OaiRecord]:
    """Key of each row to its record; rows without an identifier have none."""
    named = Identifier.objects.filter(mlmodel__in=rows, kind=IdentifierKind.CONCEPT)
    pids = {pk: pid_url(name) for pk, name in named.values_list("mlmodel", "name")}
    described = {one.concept_pid: one for one in describe_many(rows)} if is_whole else {}
    return {
        row.pk: OaiRecord(
            identifier=pid,
            changed=row.updated_at,
            sets=(f"{row.kind}s",),
            description=described.get(pid),
        )
        for row in rows
        if (pid := pids.get(row.pk)) and (pid in described or not is_whole)
    }


def _deleted(row: Identifier) -> OaiRecord:
    return OaiRecord(
        identifier=pid_url(row.name),
        changed=_gone_at(row),
        sets=(f"{row.repository_kind}s",),
        is_deleted=True,
    )
