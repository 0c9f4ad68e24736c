"""Public records for harvesters and crawlers.

There is one record per model and data set, with the identifier of all its versions together and the
description of the newest. It changes with a commit or a setting; new builds are included with the
next such change. Withdrawn and hidden repositories are listed for ever as deleted records without
metadata.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, cast

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Max, Min, Q, QuerySet
from django.db.models.functions import Coalesce
from django.db.models.lookups import Exact, GreaterThanOrEqual, LessThanOrEqual
from django.utils import timezone

from registry.errors import NotFound
from registry.fair.addresses import RepositoryAddress
from registry.fair.description import ResourceKind
from registry.fair.oai.provider import OaiRecord
from registry.selectors.access import readable_repositories
from registry.selectors.fair.description import describe_many
from registry.selectors.fair.identifier import pid_url
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel

# Time at which the target of an identifier ceased to be public.
_GONE_AT = Coalesce("hidden_at", "withdrawn_at")


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
    live, gone = _live(selection), _gone(selection)
    if after is not None:
        live = live.filter(updated_at__gte=after.changed)
        gone = gone.filter(GreaterThanOrEqual(_GONE_AT, after.changed))
        # Of equal times, deleted records come last.
        if after.is_gone:
            live = live.exclude(updated_at=after.changed)
            gone = gone.exclude(Exact(_GONE_AT, after.changed), pk__lte=after.pk)
        else:
            live = live.exclude(updated_at=after.changed, pk__lte=after.pk)
    by_cursor: dict[HarvestCursor, MLModel | Identifier] = {
        HarvestCursor(row.updated_at, is_gone=False, pk=row.pk): row
        for row in live.select_related("namespace").order_by("updated_at", "pk")[: limit + 1]
    }
    for row in gone.order_by(_GONE_AT, "pk")[: limit + 1]:
        by_cursor[HarvestCursor(_gone_at(row), is_gone=True, pk=row.pk)] = row
    cursors = sorted(by_cursor)
    rows = [by_cursor[cursor] for cursor in cursors[:limit]]
    living = _living([row for row in rows if isinstance(row, MLModel)], is_whole=is_whole)
    records = [living.get(row.pk) if isinstance(row, MLModel) else _deleted(row) for row in rows]
    return HarvestPart(
        [record for record in records if record is not None],
        cursors[limit - 1] if len(cursors) > limit else None,
    )


def harvest_count(selection: HarvestSelection) -> int:
    """Number of selected records."""
    return _live(selection).count() + _gone(selection).count()


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
    # Sorted rather than as a minimum, which SQLite computes from all rows.
    changed = (
        _live(HarvestSelection())
        .order_by("updated_at")
        .values_list("updated_at", flat=True)
        .first()
    )
    times = [changed, _gone(HarvestSelection()).aggregate(at=Min(_GONE_AT))["at"]]
    return min((at for at in times if at is not None), default=timezone.now())


def listed(number: int, at_once: int) -> tuple[list[MLModel], int]:
    """Page ``number`` (from 1) of all public repositories with namespaces, and the total number.

    The order is oldest first, so that full pages do not change.
    """
    rows = _live(HarvestSelection())
    first = (number - 1) * at_once
    page = rows.select_related("namespace").order_by("pk")[first : first + at_once]
    return list(page), rows.count()


def addresses_changed(at_once: int) -> dict[int, datetime]:
    """Parts of at most ``at_once`` public repositories each: part to its newest change.

    A repository always stays in the same part.
    """
    parts = _live(HarvestSelection()).annotate(part=F("pk") / at_once).values("part")
    newest = parts.annotate(newest=Max("updated_at")).order_by("part")
    return dict(newest.values_list("part", "newest"))


def addresses_of(part: int, at_once: int) -> list[tuple[str, datetime]]:
    """Addresses in a part of :func:`addresses_changed`, with the times of their latest changes."""
    rows = _live(HarvestSelection()).filter(pk__gte=part * at_once, pk__lt=(part + 1) * at_once)
    columns = ("kind", "namespace__name", "name", "updated_at")
    return [
        (
            RepositoryAddress(
                settings.HUB_URL, cast("ResourceKind", kind), f"{owner}/{name}"
            ).concept,
            at,
        )
        for kind, owner, name, at in rows.order_by("pk").values_list(*columns)
    ]


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
    is_withdrawn = Q(withdrawn_at__isnull=False, description__isnull=False)
    named = Identifier.objects.defer("description").filter(kind=IdentifierKind.CONCEPT)
    rows = named.filter(Q(hidden_at__isnull=False) | is_withdrawn)
    if selection.kind is not None:
        rows = rows.filter(repository_kind=selection.kind)
    if selection.since is not None:
        rows = rows.filter(GreaterThanOrEqual(_GONE_AT, selection.since))
    if selection.until is not None:
        rows = rows.filter(LessThanOrEqual(_GONE_AT, _end_of(selection.until)))
    return rows


def _gone_at(row: Identifier) -> datetime:
    return cast("datetime", row.hidden_at or row.withdrawn_at)


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
