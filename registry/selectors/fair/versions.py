"""The versions of a repository with their names and identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from registry.fair.card.card import version_of
from registry.selectors.fair.identifier import ark_of, identifiers_of, pid_url
from registry.selectors.repository.revision import is_empty_start
from registry.states import IdentifierKind, RefKind
from registry.tables import Identifier, MLModel, Ref
from registry.validation.card import Card

_OID_DIGITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version.

    Attributes:
        name: Its oldest tag, else the version in its card, else the start of its commit id.
        oid: Commit id.
        date: When it was committed.
        ark, pid: Its identifier, as cited and as an address of this hub.
        is_withdrawn: Whether only its record is left.
    """

    name: str
    oid: str
    date: datetime
    ark: str
    pid: str
    is_withdrawn: bool


def versions_of(mlmodel: MLModel) -> QuerySet[Identifier]:
    """The identifiers of all versions of ``mlmodel``, newest first, for :func:`version_list`.

    An empty first commit is left out; older hubs gave it an identifier.
    """
    rows = identifiers_of(mlmodel).filter(kind=IdentifierKind.VERSION)
    rows = rows.exclude(is_empty_start("revision"))
    return rows.select_related("revision").order_by("-id")


def version_list(rows: Sequence[Identifier]) -> list[Version]:
    """The versions that ``rows`` identify, in their order; one query."""
    tags: dict[int, str] = {}
    tagged = Ref.objects.filter(
        kind=RefKind.TAG, revision__in=[row.revision_id for row in rows if row.revision_id]
    )
    for revision, name in tagged.order_by("pk").values_list("revision", "name"):
        tags.setdefault(revision, name)
    return [_version(row, tags) for row in rows]


def _version(row: Identifier, tags: dict[int, str]) -> Version:
    revision = row.revision
    name = None
    if revision is not None:
        name = tags.get(revision.pk) or version_of(Card(values=revision.card))
    return Version(
        name=name or row.oid[:_OID_DIGITS],
        oid=row.oid,
        date=revision.created_at if revision else row.minted_at,
        ark=ark_of(row.name),
        pid=pid_url(row.name),
        is_withdrawn=row.withdrawn_at is not None,
    )
