"""All public records: of each repository the newest version, then what is kept of withdrawn ones.

They are read in batches, so that memory does not grow with their number.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from typing import TypeVar

from django.contrib.auth.models import AnonymousUser
from django.db.models import Max, Model, QuerySet

from registry.fair.description import Description
from registry.selectors.access import readable_jobs, readable_repositories
from registry.selectors.fair.description import describe_many, head_validators
from registry.selectors.fair.identifier import restore
from registry.states import IdentifierKind
from registry.tables import Identifier, MLModel

Row = TypeVar("Row", bound=Model)


def dump_records(batch_size: int) -> Iterator[list[Description]]:
    """All records in batches; each is as it was when its batch was read."""
    for rows in _batches(_live(), batch_size):
        yield describe_many(rows)
    for tombstones in _batches(_tombstones(), batch_size):
        yield [restore(row.description or {}) for row in tombstones]


def dump_validator(batch_size: int) -> str:
    """Digest that changes whenever a record does, computed without reading the records."""
    digest = hashlib.sha256()
    for rows in _batches(_live(), batch_size):
        digest.update(repr(head_validators(rows)).encode())
    for tombstones in _batches(_tombstones().defer("description"), batch_size):
        digest.update(repr([(row.name, row.withdrawn_at) for row in tombstones]).encode())
    return digest.hexdigest()


def dump_modified() -> datetime | None:
    """Time of the latest commit, setting, withdrawal or result; ``None`` without records."""
    times = (
        _live().aggregate(at=Max("updated_at"))["at"],
        _tombstones().aggregate(at=Max("withdrawn_at"))["at"],
        readable_jobs(AnonymousUser()).aggregate(at=Max("ended_at"))["at"],
    )
    return max((at for at in times if at is not None), default=None)


def _live() -> QuerySet[MLModel]:
    return readable_repositories(AnonymousUser()).select_related("namespace")


def _tombstones() -> QuerySet[Identifier]:
    rows = Identifier.objects.filter(kind=IdentifierKind.CONCEPT, withdrawn_at__isnull=False)
    return rows.filter(description__isnull=False)


def _batches(rows: QuerySet[Row], size: int) -> Iterator[list[Row]]:
    last = 0
    while batch := list(rows.filter(pk__gt=last).order_by("pk")[:size]):
        yield batch
        last = batch[-1].pk
