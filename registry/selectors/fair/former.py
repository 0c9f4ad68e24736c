"""Repositories that had the name of another one before it."""

from dataclasses import dataclass
from datetime import datetime

from registry.selectors.access import Actor, readable_repositories
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import pid_url, withdrawn_get
from registry.selectors.repository.mlmodel import former_names
from registry.states import RepositoryKind
from registry.tables import MLModel

#: Upper bound on the repositories that a page names.
_MAX_HOLDERS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FormerHolder:
    """A repository that was moved away from a name.

    Attributes:
        full_name: Its current name, or its last one.
        url: Its page; the identifier of its record if it was deleted.
        until: When another repository took the name.
        is_withdrawn: Whether it was deleted.
    """

    full_name: str
    url: str
    until: datetime
    is_withdrawn: bool


def former_holders(actor: Actor, mlmodel: MLModel) -> list[FormerHolder]:
    """At most five repositories that had the name of ``mlmodel`` before, last first: those that the
    actor may read, and deleted ones that left a record."""
    kind = RepositoryKind(mlmodel.kind)
    rows = former_names(kind, mlmodel.namespace.name, mlmodel.name)
    rows = rows.filter(replaced_at__isnull=False).select_related("mlmodel__namespace")
    readable = rows.filter(mlmodel__in=readable_repositories(actor)) | rows.filter(mlmodel=None)
    holders = []
    for row in readable.order_by("-replaced_at", "-pk")[:_MAX_HOLDERS]:
        assert row.replaced_at is not None  # noqa: S101 - filtered above
        if row.mlmodel is not None:
            url = repository_address(row.mlmodel).concept
            name, is_withdrawn = row.mlmodel.full_name, False
        elif record := withdrawn_get(kind, row.full_name):
            url, name, is_withdrawn = pid_url(record.identifier.name), row.full_name, True
        else:
            continue
        holders.append(
            FormerHolder(full_name=name, url=url, until=row.replaced_at, is_withdrawn=is_withdrawn)
        )
    return holders
