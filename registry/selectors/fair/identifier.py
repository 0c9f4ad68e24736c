"""Reads of persistent identifiers, limited to what the user may read."""

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from registry.errors import NotFound
from registry.fair import ark, freeze
from registry.fair.description import Description
from registry.fair.withdrawal import withdrawn
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.fair.alternate import mirror_identifier
from registry.selectors.repository.mlmodel import record_names
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel, Revision

DOI_RESOLVER = "https://doi.org"

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_OID_START = re.compile(r"[0-9a-f]{7,40}")
_ANYBODY = AnonymousUser()


@dataclass(frozen=True, slots=True)
class ResolvedIdentifier:
    """An identifier with its target.

    Attributes:
        mlmodel: ``None`` if it was deleted.
        revision: ``None`` for all versions together, and if it was deleted.
        description: The kept record of a withdrawn target; ``None`` for all others.
    """

    identifier: Identifier
    mlmodel: MLModel | None
    revision: Revision | None
    description: Description | None


def identifier_get(actor: Actor, name: str) -> ResolvedIdentifier:
    """Resolve an identifier.

    Raises ``NotFound``: ``identifier_not_found``, also for targets that the actor may not read, and
    for withdrawn targets that were not public.

    Args:
        name: With its NAAN (``ark:/99999/h2...``, ``ark:99999/h2...``) or without; hyphens and case
            are ignored. An identifier of another hub leads to its mirror here:
            :mod:`registry.selectors.fair.alternate`.
    """
    own = _name_of(name)
    rows = Identifier.objects.select_related("mlmodel__namespace", "revision")
    identifier = rows.filter(name=own).first() if own else None
    identifier = identifier or mirror_identifier(actor, name)
    if identifier is None or not _may_know(actor, identifier):
        raise _not_found(name)
    mlmodel, revision = identifier.mlmodel, identifier.revision
    if identifier.withdrawn_at is not None:
        return ResolvedIdentifier(identifier, mlmodel, None, restore(identifier.description or {}))
    if mlmodel is not None and revision is not None:
        revision.mlmodel = mlmodel
    return ResolvedIdentifier(identifier, mlmodel, revision, None)


def withdrawn_get(
    kind: RepositoryKind, full_name: str, rev: str | None = None, *, mlmodel: MLModel | None = None
) -> ResolvedIdentifier | None:
    """The kept record of a withdrawn repository or version at ``full_name``, if there is one.

    For addresses without a current target. No records are kept of targets that were not public.

    Args:
        rev: A commit id, or its first 7 or more digits. For other values, such as branches and
            tags, which were deleted as well, the record of all versions together.
        mlmodel: The current repository there, which lacks ``rev``; one the user may read.
    """
    oid = (rev or "").lower()
    is_version = _OID_START.fullmatch(oid) is not None
    if mlmodel is not None and not is_version:
        return None
    target = Q(kind=IdentifierKind.CONCEPT)
    if is_version:
        target = Q(kind=IdentifierKind.VERSION, oid__startswith=oid)
    identifier = _tombstone(target, kind, full_name, mlmodel)
    if identifier is None:
        return None
    description = restore(identifier.description or {})
    if mlmodel is None:
        whole = _tombstone(Q(kind=IdentifierKind.CONCEPT), kind, full_name, None)
        is_shown = whole is not None and whole.full_name.lower() == full_name.lower()
        stored = whole.description if whole and is_shown else None
        description = replace(description, is_at_name=(stored or {}).get("pid") == description.pid)
    return ResolvedIdentifier(identifier, mlmodel, None, description)


def identifiers_of(mlmodel: MLModel) -> QuerySet[Identifier]:
    """The identifier of all versions together, then those of the versions, newest first.

    Identifiers of withdrawn versions are included; kept records are not loaded.
    """
    # "concept" sorts before "version".
    return mlmodel.identifiers.defer("description").order_by("kind", "-pk")


def ceased(rows: QuerySet[Identifier], since: datetime | None = None) -> QuerySet[Identifier]:
    """Those of ``rows`` whose target ceased to be public, at ``since`` or later."""
    # A bound rather than "is not null", beside which PostgreSQL misjudges further bounds.
    return rows.filter(gone_at__gte=since or _EARLIEST)


def identifiers_at(revision: Revision) -> tuple[Identifier | None, Identifier | None]:
    """The identifiers of all versions together and of this one; ``None`` if not minted yet."""
    concept = Q(mlmodel=revision.mlmodel_id, kind=IdentifierKind.CONCEPT)
    rows = Identifier.objects.defer("description").filter(concept | Q(revision=revision))
    by_kind = {row.kind: row for row in rows}
    return by_kind.get(IdentifierKind.CONCEPT), by_kind.get(IdentifierKind.VERSION)


def identifier_of(revision: Revision) -> Identifier | None:
    """The identifier of one version; ``None`` if not minted yet."""
    return revision.identifiers.defer("description").first()


def restore(data: Mapping[str, Any]) -> Description:
    """The description of a withdrawn target from ``Identifier.description``.

    It is public: references to repositories of this hub that are private now are removed. Raises
    ``TypeError`` if ``data`` is not a description.
    """
    stored = freeze.load(data)
    # Records that were stored earlier offer what was deleted.
    frozen = withdrawn(stored, stored.withdrawal)
    addresses = [*(one.pid for one in frozen.derived_from), *(one.pid for one in frozen.datasets)]
    addresses += [address for one in frozen.activities for address in one.used]
    hidden = _hidden({address for address in addresses if address})
    return _without(frozen, hidden) if hidden else frozen


def ark_of(name: str) -> str:
    """The identifier as cited: ``ark:/NAAN/name``."""
    return ark.written(settings.NAAN, name)


def ark_name(text: str) -> str:
    """The name in an ARK of this hub, or in an address that ends in one; "" otherwise."""
    _, lead, rest = text.partition("ark:")
    return _name_of(f"{lead}{rest}") if lead else ""


def pid_url(name: str) -> str:
    """The address at which this hub resolves an identifier; it is used for citations."""
    return f"{settings.HUB_URL}/{ark_of(name)}"


def doi_url(identifier: Identifier) -> str | None:
    """``https://doi.org/...`` if one is registered."""
    return f"{DOI_RESOLVER}/{identifier.doi}" if identifier.doi else None


def dois_due() -> QuerySet[Identifier]:
    """Identifiers whose DOIs need an update at DataCite, longest waiting first."""
    rows = Identifier.objects.exclude(doi="").filter(doi_due_at__isnull=False)
    return rows.order_by("doi_due_at", "pk")


def _name_of(text: str) -> str:
    """The name in ``text``; "" if it cannot be one of this hub.

    Names minted under the test NAAN still resolve after the hub gets a NAAN of its own.
    """
    if "ark:" not in text.lower():
        name = ark.plain(text)
        return name if name.isascii() and name.isalnum() else ""
    parsed = ark.parse(text)
    return parsed.name if parsed and parsed.naan in {settings.NAAN, ark.TEST_NAAN} else ""


def _tombstone(
    target: Q, kind: RepositoryKind, full_name: str, mlmodel: MLModel | None
) -> Identifier | None:
    """The identifier with a kept record that ``target`` selects among those at ``full_name``."""
    rows = Identifier.objects.filter(target, withdrawn_at__isnull=False, description__isnull=False)
    for last_name in record_names(kind, full_name):
        repository = Q(Exact(Lower("full_name"), last_name), repository_kind=kind, mlmodel=None)
        if mlmodel is not None:
            repository |= Q(mlmodel=mlmodel)
        identifier = rows.filter(repository).order_by("-withdrawn_at", "-pk").first()
        if identifier is not None:
            return identifier
    return None


def _may_know(actor: Actor, identifier: Identifier) -> bool:
    mlmodel = identifier.mlmodel
    if mlmodel is not None:
        if not readable_repositories(actor).filter(pk=mlmodel.pk).exists():
            return False
    elif identifier.withdrawn_at is None:
        return False
    if identifier.withdrawn_at is not None:
        return identifier.description is not None
    return identifier.kind == IdentifierKind.CONCEPT or identifier.revision is not None


def _hidden(addresses: Collection[str]) -> set[str]:
    """Those of ``addresses`` that identify repositories which are not public."""
    names = {one: name for one in addresses if (name := ark_name(one))}
    if not names:
        return set()
    tombstones = Q(mlmodel=None, withdrawn_at__isnull=False, description__isnull=False)
    rows = Identifier.objects.filter(name__in=set(names.values()))
    public = rows.filter(tombstones | Q(mlmodel__in=readable_repositories(_ANYBODY)))
    hidden = set(rows.exclude(pk__in=public.values("pk")).values_list("name", flat=True))
    return {address for address, name in names.items() if name in hidden}


def _without(frozen: Description, hidden: AbstractSet[str]) -> Description:
    """``frozen`` without references to ``hidden``; data sets keep their names in the card."""
    return replace(
        frozen,
        derived_from=tuple(one for one in frozen.derived_from if one.pid not in hidden),
        datasets=tuple(
            replace(one, url=None, pid=None) if one.pid in hidden else one
            for one in frozen.datasets
        ),
        activities=tuple(
            replace(one, used=tuple(used for used in one.used if used not in hidden))
            for one in frozen.activities
            # The title of a fork activity names its source.
            if one.kind != "fork" or hidden.isdisjoint(one.used)
        ),
    )


def _not_found(text: str) -> NotFound:
    return NotFound(
        "identifier_not_found",
        f"The identifier {text[:100]!r} does not exist, or you may not read its target.",
        _hint(text),
    )


def _hint(text: str) -> str:
    parsed = ark.parse(text)
    if parsed is not None and parsed.naan not in {settings.NAAN, ark.TEST_NAAN}:
        url = f"https://n2t.net/{ark.written(*parsed)}"
        return f"NAAN {parsed.naan} belongs to another organisation: {url} resolves it."
    name = _name_of(text)
    if any(ark.is_checked(naan, name) for naan in (settings.NAAN, ark.TEST_NAAN)):
        return "Sign in if its target is private."
    return "It contains a typing error: its check character is wrong."
