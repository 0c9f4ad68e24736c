"""What harvesters and crawlers are told of: all that everybody may read, and what once was.

One record for each model and data set, known by the identifier of all its versions together and
described by the newest one. It changes with a commit or a setting; a build published since comes
along with the next of these. What was withdrawn or hidden stays on the list for ever, as deleted
and without metadata.
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

# Of an identifier: when what it names went out of everybody's sight.
_GONE_AT = Coalesce("hidden_at", "withdrawn_at")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarvestSelection:
    """Records of one kind, changed from ``since`` to ``until``: whole seconds, both included."""

    kind: RepositoryKind | None = None
    since: datetime | None = None
    until: datetime | None = None


class HarvestCursor(NamedTuple):
    """The last record of a part, in the order of lists."""

    changed: datetime
    is_gone: bool
    pk: int


@dataclass(frozen=True, slots=True)
class HarvestPart:
    """Some records, the longest unchanged first; there are more if ``last`` is not ``None``."""

    records: list[OaiRecord]
    last: HarvestCursor | None


def harvest_part(
    wanted: HarvestSelection, *, after: HarvestCursor | None = None, limit: int, is_whole: bool
) -> HarvestPart:
    """The next ``limit`` records, by a fixed number of queries.

    What changes meanwhile comes again, at the end.

    Args:
        is_whole: Whether the records are to have their descriptions.
    """
    live, gone = _live(wanted), _gone(wanted)
    if after is not None:
        live = live.filter(updated_at__gte=after.changed)
        gone = gone.filter(GreaterThanOrEqual(_GONE_AT, after.changed))
        # Of what changed in the same moment, what is gone comes last.
        if after.is_gone:
            live = live.exclude(updated_at=after.changed)
            gone = gone.exclude(Exact(_GONE_AT, after.changed), pk__lte=after.pk)
        else:
            live = live.exclude(updated_at=after.changed, pk__lte=after.pk)
    found: dict[HarvestCursor, MLModel | Identifier] = {
        HarvestCursor(row.updated_at, is_gone=False, pk=row.pk): row
        for row in live.select_related("namespace").order_by("updated_at", "pk")[: limit + 1]
    }
    for row in gone.order_by(_GONE_AT, "pk")[: limit + 1]:
        found[HarvestCursor(_gone_at(row), is_gone=True, pk=row.pk)] = row
    places = sorted(found)
    rows = [found[place] for place in places[:limit]]
    living = _living([row for row in rows if isinstance(row, MLModel)], is_whole=is_whole)
    records = [living.get(row.pk) if isinstance(row, MLModel) else _deleted(row) for row in rows]
    return HarvestPart(
        [record for record in records if record is not None],
        places[limit - 1] if len(places) > limit else None,
    )


def harvest_count(wanted: HarvestSelection) -> int:
    """How many records are wanted."""
    return _live(wanted).count() + _gone(wanted).count()


def harvest_get(pid: str) -> OaiRecord:
    """The record of that identifier, written as lists write it.

    Raises:
        NotFound: ``identifier_not_found``.
    """
    named = Identifier.objects.defer("description").filter(kind=IdentifierKind.CONCEPT)
    name = pid.removeprefix(pid_url(""))
    # What no identifier holds, PostgreSQL may not take.
    row = named.filter(name=name).first() if name.isalnum() else None
    if row is not None and pid == pid_url(row.name):
        there = list(_live(HarvestSelection()).filter(identifiers=row).select_related("namespace"))
        for record in _living(there, is_whole=True).values():
            return record
        if _gone(HarvestSelection()).filter(pk=row.pk).exists():
            return _deleted(row)
    raise NotFound(
        "identifier_not_found",
        f"No model and no data set is known as {pid[:200]!r}.",
        "Lists of records name their identifiers.",
    )


def harvest_begin() -> datetime:
    """No record changed before."""
    # Sorted, not as a minimum: SQLite finds that without looking at every row.
    changed = (
        _live(HarvestSelection())
        .order_by("updated_at")
        .values_list("updated_at", flat=True)
        .first()
    )
    times = [changed, _gone(HarvestSelection()).aggregate(at=Min(_GONE_AT))["at"]]
    return min((at for at in times if at is not None), default=timezone.now())


def listed(number: int, at_once: int) -> tuple[list[MLModel], int]:
    """A page of all that everybody may read, the oldest first so that pages stay as they are.

    Args:
        number: From 1.

    Returns:
        The rows, with their namespaces, and how many there are on all pages.
    """
    rows = _live(HarvestSelection())
    first = (number - 1) * at_once
    shown = rows.select_related("namespace").order_by("pk")[first : first + at_once]
    return list(shown), rows.count()


def addresses_changed(at_once: int) -> dict[int, datetime]:
    """All that everybody may read, in parts of at most ``at_once``: a part to its newest change.

    What belongs to a part stays in it, however much comes and goes.
    """
    parts = _live(HarvestSelection()).annotate(part=F("pk") / at_once).values("part")
    newest = parts.annotate(newest=Max("updated_at")).order_by("part")
    return dict(newest.values_list("part", "newest"))


def addresses_of(part: int, at_once: int) -> list[tuple[str, datetime]]:
    """The pages of one of the parts of :func:`addresses_changed`, with their latest changes."""
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


def _live(wanted: HarvestSelection) -> QuerySet[MLModel]:
    rows = readable_repositories(AnonymousUser())
    if wanted.kind is not None:
        rows = rows.filter(kind=wanted.kind)
    if wanted.since is not None:
        rows = rows.filter(updated_at__gte=wanted.since)
    if wanted.until is not None:
        rows = rows.filter(updated_at__lte=_end_of(wanted.until))
    return rows


def _gone(wanted: HarvestSelection) -> QuerySet[Identifier]:
    """Identifiers of what everybody could once read, without what is left of it."""
    is_left = Q(withdrawn_at__isnull=False, description__isnull=False)
    named = Identifier.objects.defer("description").filter(kind=IdentifierKind.CONCEPT)
    rows = named.filter(Q(hidden_at__isnull=False) | is_left)
    if wanted.kind is not None:
        rows = rows.filter(repository_kind=wanted.kind)
    if wanted.since is not None:
        rows = rows.filter(GreaterThanOrEqual(_GONE_AT, wanted.since))
    if wanted.until is not None:
        rows = rows.filter(LessThanOrEqual(_GONE_AT, _end_of(wanted.until)))
    return rows


def _gone_at(row: Identifier) -> datetime:
    return cast("datetime", row.hidden_at or row.withdrawn_at)


def _end_of(second: datetime) -> datetime:
    return second.replace(microsecond=999_999)


def _living(rows: Sequence[MLModel], *, is_whole: bool) -> dict[int, OaiRecord]:
    """Key of each row to its record; what has no identifier yet has none."""
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
