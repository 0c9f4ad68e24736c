"""All public records: of each repository the newest version, then what is kept of withdrawn ones.

They are read in batches, so that memory does not grow with their number.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from registry.fair.description import Description
from registry.pagination import row_after
from registry.selectors.access import readable_repositories
from registry.selectors.fair.description import describe_many
from registry.selectors.fair.hub import this_hub
from registry.selectors.fair.identifier import ceased, restore
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import AuditEntry, Identifier, MLModel


@dataclass(frozen=True, slots=True)
class DumpState:
    """``validator`` changes whenever a record may have changed, last at ``modified``."""

    validator: str
    modified: datetime | None


def dump_state() -> DumpState:
    """The state of all records, from the newest entry of the audit log: every write has one."""
    entry = AuditEntry.objects.order_by("-pk").values_list("pk", "at").first()
    parts = (this_hub(), settings.NAAN, entry)
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()
    return DumpState(digest, entry[1] if entry else None)


def dump_records(batch_size: int) -> Iterator[list[Description]]:
    """All records in batches; each is as it was when its batch was read."""
    for rows in _repositories(batch_size):
        yield describe_many(rows)
    for tombstones in _tombstones(batch_size):
        yield [restore(row.description or {}) for row in tombstones]


def _repositories(size: int) -> Iterator[list[MLModel]]:
    rows = readable_repositories(AnonymousUser()).select_related("namespace").order_by("pk")
    last = 0
    while batch := list(rows.filter(pk__gt=last)[:size]):
        yield batch
        last = batch[-1].pk


def _tombstones(size: int) -> Iterator[list[Identifier]]:
    concepts = Identifier.objects.filter(kind=IdentifierKind.CONCEPT, hidden_at=None)
    for kind in RepositoryKind:
        rows = ceased(concepts.filter(repository_kind=kind)).order_by("gone_at", "pk")
        batch = list(rows[:size])
        while batch:
            yield batch
            position = (batch[-1].withdrawn_at, batch[-1].pk)
            batch = list(rows.filter(row_after(("gone_at", "id"), position))[:size])
