"""Changes of the public records, for feeds: newest first, withdrawals among them.

Repositories that were made private are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Max, Model, Q, QuerySet
from django.db.models.functions import Coalesce

from registry.fair.atom import FeedEntry, repository_entry, version_entry
from registry.selectors.access import readable_repositories
from registry.selectors.fair.description import describe_many, describe_revisions
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import restore
from registry.selectors.repository.revision import history, is_empty_start
from registry.states import IdentifierKind, RefKind
from registry.tables import Identifier, MLModel, Namespace, Revision

Row = TypeVar("Row", bound=Model)


class ChangeCursor(NamedTuple):
    """Position of an entry: its time, whether it is withdrawn, and the key of its row."""

    at: datetime
    is_gone: bool
    pk: int


@dataclass(frozen=True, slots=True)
class ChangesPart:
    """Some entries, newest first; there are more if ``last`` is not ``None``.

    ``modified`` is the time of the latest change of the whole list, including records that are not
    public any more; ``None`` if there never was a record.
    """

    entries: list[FeedEntry]
    last: ChangeCursor | None
    modified: datetime | None


def changes_part(
    namespace: Namespace | None = None,
    *,
    by_creation: bool = False,
    after: ChangeCursor | None = None,
    limit: int,
) -> ChangesPart:
    """Public repositories, each at its latest change, and withdrawn ones at their withdrawal.

    Args:
        namespace: Owner of the repositories; ``None`` for all.
        by_creation: Order by creation instead, without withdrawn repositories.
        after: Position after which the part begins; ``None`` for the first part.
        limit: Upper bound on the number of entries.
    """
    live = readable_repositories(AnonymousUser()).select_related("namespace")
    gone = Identifier.objects.filter(kind=IdentifierKind.CONCEPT)
    if namespace is not None:
        live = live.filter(namespace=namespace)
        gone = gone.filter(full_name__istartswith=f"{namespace.name}/")
    times = (
        live.order_by("-updated_at").values_list("updated_at", flat=True).first(),
        gone.aggregate(at=Max(Coalesce("hidden_at", "withdrawn_at")))["at"],
    )
    column = "created_at" if by_creation else "updated_at"
    tombstones = _tombstones(gone.none() if by_creation else gone)
    rows, last = _merged(live, column, tombstones, after, limit)
    return ChangesPart(_entries(rows, MLModel, _repositories), last, _latest(times))


def versions_part(
    mlmodel: MLModel, head: Revision, *, after: ChangeCursor | None = None, limit: int
) -> ChangesPart:
    """The versions of a public repository: those of the default branch and tagged ones at their
    commit, withdrawn ones at their withdrawal.

    Args:
        mlmodel: The repository, with its namespace.
        head: Newest revision of the default branch.
        after, limit: As for :func:`changes_part`.
    """
    tagged = mlmodel.refs.filter(kind=RefKind.TAG).values("revision")
    own = mlmodel.revisions.filter(
        Q(pk__in=history(mlmodel, head).values("pk")) | Q(pk__in=tagged), ~is_empty_start()
    )
    gone = Identifier.objects.filter(mlmodel=mlmodel, kind=IdentifierKind.VERSION)
    times = (mlmodel.updated_at, gone.aggregate(at=Max("withdrawn_at"))["at"])
    rows, last = _merged(own, "created_at", _tombstones(gone), after, limit)
    for row in rows:
        if isinstance(row, Revision):
            # Avoids a query for each row.
            row.mlmodel = mlmodel
    return ChangesPart(_entries(rows, Revision, _versions), last, _latest(times))


def _tombstones(rows: QuerySet[Identifier]) -> QuerySet[Identifier]:
    """Withdrawn ones whose records are public."""
    return rows.filter(withdrawn_at__isnull=False, description__isnull=False, hidden_at=None)


def _merged(
    live: QuerySet[Row],
    column: str,
    gone: QuerySet[Identifier],
    after: ChangeCursor | None,
    limit: int,
) -> tuple[list[Row | Identifier], ChangeCursor | None]:
    """The next ``limit`` rows of both, by ``column`` and ``withdrawn_at``, and the position of the
    last one."""
    if after is not None:
        at, pk = after.at, after.pk
        live = live.filter(**{f"{column}__lte": at})
        gone = gone.filter(withdrawn_at__lte=at)
        # Of equal times, withdrawn ones come first.
        if after.is_gone:
            gone = gone.exclude(withdrawn_at=at, pk__gte=pk)
        else:
            live = live.exclude(**{column: at, "pk__gte": pk})
            gone = gone.exclude(withdrawn_at=at)
    by_cursor: dict[ChangeCursor, Row | Identifier] = {}
    for row in live.order_by(f"-{column}", "-pk")[: limit + 1]:
        by_cursor[ChangeCursor(getattr(row, column), is_gone=False, pk=row.pk)] = row
    for tombstone in gone.order_by("-withdrawn_at", "-pk")[: limit + 1]:
        time = tombstone.withdrawn_at or tombstone.minted_at
        by_cursor[ChangeCursor(time, is_gone=True, pk=tombstone.pk)] = tombstone
    cursors = sorted(by_cursor, reverse=True)
    last = cursors[limit - 1] if len(cursors) > limit else None
    return [by_cursor[one] for one in cursors[:limit]], last


def _entries(
    rows: Sequence[Row | Identifier],
    table: type[Row],
    live: Callable[[list[Row]], dict[int, FeedEntry]],
) -> list[FeedEntry]:
    """The entries of ``rows``; repositories without a version have none."""
    written = live([row for row in rows if isinstance(row, table)])
    entries = [
        _withdrawn(row) if isinstance(row, Identifier) else written.get(row.pk) for row in rows
    ]
    return [one for one in entries if one is not None]


def _repositories(rows: list[MLModel]) -> dict[int, FeedEntry]:
    described = {one.concept_landing: one for one in describe_many(rows)}
    return {
        row.pk: repository_entry(description, row.updated_at, row.created_at)
        for row in rows
        if (description := described.get(repository_address(row).concept))
    }


def _versions(rows: list[Revision]) -> dict[int, FeedEntry]:
    return {
        row.pk: version_entry(description, row.created_at, row.message)
        for row, description in zip(rows, describe_revisions(rows), strict=True)
    }


def _withdrawn(row: Identifier) -> FeedEntry:
    description = restore(row.description or {})
    at = row.withdrawn_at or row.minted_at
    if row.kind == IdentifierKind.VERSION:
        return version_entry(description, at, None)
    return repository_entry(description, at, row.minted_at)


def _latest(times: Sequence[datetime | None]) -> datetime | None:
    return max((at for at in times if at is not None), default=None)
