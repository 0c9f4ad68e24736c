"""Changes of the public records, for feeds: newest first, withdrawals among them.

Repositories that were made private are left out.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Max, Model, Q, QuerySet

from registry.fair.atom import FeedEntry, repository_entry, version_entry
from registry.pagination import row_after
from registry.selectors.access import readable_repositories
from registry.selectors.fair.description import describe_many, describe_revisions
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import ceased, restore
from registry.selectors.repository.revision import history, is_empty_start
from registry.states import IdentifierKind, RefKind, RepositoryKind
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
        gone = gone.filter(owner=f"{namespace.name}/".lower())
    # Each kind has an index in the order of changes.
    by_kind = [live.filter(kind=kind) for kind in RepositoryKind]
    times = [
        rows.order_by("-updated_at").values_list("updated_at", flat=True).first()
        for rows in by_kind
    ]
    gone_by_kind = [gone.filter(repository_kind=kind) for kind in RepositoryKind]
    times += map(_gone_last, gone_by_kind)
    if by_creation:
        rows, last = _merged([live], "created_at", [], after, limit)
    else:
        tombstones = [_tombstones(some) for some in gone_by_kind]
        rows, last = _merged(by_kind, "updated_at", tombstones, after, limit)
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
    rows, last = _merged([own], "created_at", [_tombstones(gone)], after, limit)
    for row in rows:
        if isinstance(row, Revision):
            # Avoids a query for each row.
            row.mlmodel = mlmodel
    return ChangesPart(_entries(rows, Revision, _versions), last, _latest(times))


def _tombstones(rows: QuerySet[Identifier]) -> QuerySet[Identifier]:
    """Withdrawn ones whose records are public."""
    return ceased(rows).filter(hidden_at=None)


def _gone_last(rows: QuerySet[Identifier]) -> datetime | None:
    """When the last of ``rows`` ceased to be public."""
    return ceased(rows).order_by("-gone_at").values_list("gone_at", flat=True).first()


def _merged(
    lists: Sequence[QuerySet[Row]],
    column: str,
    gone: Sequence[QuerySet[Identifier]],
    after: ChangeCursor | None,
    limit: int,
) -> tuple[list[Row | Identifier], ChangeCursor | None]:
    """The next ``limit`` rows of all, by ``column`` and ``gone_at``, and the position of the last
    one."""
    if after is not None:
        at, pk = after.at, after.pk
        # Of equal times, withdrawn ones come first.
        if after.is_gone:
            lists = [rows.filter(**{f"{column}__lte": at}) for rows in lists]
            behind = row_after(("gone_at", "id"), (at, pk), descending=True)
            gone = [rows.filter(behind) for rows in gone]
        else:
            behind = row_after((column, "id"), (at, pk), descending=True)
            lists = [rows.filter(behind) for rows in lists]
            gone = [rows.filter(gone_at__lt=at) for rows in gone]
    by_cursor: dict[ChangeCursor, Row | Identifier] = {}
    for rows in lists:
        for row in rows.order_by(f"-{column}", "-pk")[: limit + 1]:
            by_cursor[ChangeCursor(getattr(row, column), is_gone=False, pk=row.pk)] = row
    for tombstones in gone:
        for one in tombstones.order_by("-gone_at", "-pk")[: limit + 1]:
            time = one.withdrawn_at or one.minted_at
            by_cursor[ChangeCursor(time, is_gone=True, pk=one.pk)] = one
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
