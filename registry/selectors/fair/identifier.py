"""Reads of persistent identifiers: what they name, as far as the asker may know."""

import re
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.db.models.functions import Lower
from django.db.models.lookups import Exact

from registry.errors import NotFound
from registry.fair import ark, freeze
from registry.fair.description import Description
from registry.ids import NAME_RE
from registry.selectors.access import Actor, readable_repositories
from registry.states import IdentifierKind, RepositoryKind
from registry.tables import Identifier, MLModel, Revision

DOI_RESOLVER = "https://doi.org"

_OID_START = re.compile(r"[0-9a-f]{7,40}")
_ANYBODY = AnonymousUser()


@dataclass(frozen=True, slots=True)
class ResolvedIdentifier:
    """What an identifier names.

    Attributes:
        mlmodel: ``None`` where it is gone.
        revision: Of a version; ``None`` for all versions together, and where it is gone.
        description: The record that is left of what was withdrawn; ``None`` for all else.
    """

    identifier: Identifier
    mlmodel: MLModel | None
    revision: Revision | None
    description: Description | None


def identifier_get(actor: Actor, name: str) -> ResolvedIdentifier:
    """What is named so, or what is left of it.

    Args:
        name: With its NAAN (``ark:/99999/h2...``, ``ark:99999/h2...``) or without; hyphens and
            case do not count.

    Raises:
        NotFound: ``identifier_not_found``; one of something the actor may not read, and of
            something withdrawn that was not public, gets the very same answer.
    """
    wanted = _name_of(name)
    rows = Identifier.objects.select_related("mlmodel__namespace", "revision")
    identifier = rows.filter(name=wanted).first() if wanted else None
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
    """What is left of what was once found at ``full_name``; ``None`` if nothing is.

    For addresses at which nothing else is found: of what was not public nothing is left.

    Args:
        rev: An id of a version, or its first 7 or more digits. Without it, and for the name of a
            branch or tag, which went with it, the record of all versions together.
        mlmodel: What is there now and lacks ``rev``; one the asker may read.
    """
    wanted = (rev or "").lower()
    is_version = _OID_START.fullmatch(wanted) is not None
    if mlmodel is not None and not is_version:
        return None
    left = Identifier.objects.filter(withdrawn_at__isnull=False, description__isnull=False)
    # Also keeps NUL, which PostgreSQL does not take, out of the query.
    gone = Q(Exact(Lower("full_name"), full_name.lower()), repository_kind=kind, mlmodel=None)
    places = gone if _is_name(full_name) else Q(pk__in=[])
    if mlmodel is not None:
        places |= Q(mlmodel=mlmodel)
    named = Q(kind=IdentifierKind.CONCEPT)
    if is_version:
        named = Q(kind=IdentifierKind.VERSION, oid__startswith=wanted)
    identifier = left.filter(places, named).order_by("-withdrawn_at", "-pk").first()
    if identifier is None:
        return None
    return ResolvedIdentifier(identifier, mlmodel, None, restore(identifier.description or {}))


def identifiers_of(mlmodel: MLModel) -> QuerySet[Identifier]:
    """The identifier of all versions together, then those of the versions, newest first.

    Those of versions that are gone are among them, with ``withdrawn_at``; what is left of them
    is not read.
    """
    # "concept" comes before "version".
    return mlmodel.identifiers.defer("description").order_by("kind", "-pk")


def identifiers_at(revision: Revision) -> tuple[Identifier | None, Identifier | None]:
    """The identifiers of all versions together and of this one; ``None`` before they are minted."""
    concept = Q(mlmodel=revision.mlmodel_id, kind=IdentifierKind.CONCEPT)
    rows = Identifier.objects.defer("description").filter(concept | Q(revision=revision))
    named = {row.kind: row for row in rows}
    return named.get(IdentifierKind.CONCEPT), named.get(IdentifierKind.VERSION)


def identifier_of(revision: Revision) -> Identifier | None:
    """The identifier of one version; ``None`` before it has one."""
    return revision.identifiers.defer("description").first()


def restore(data: Mapping[str, Any]) -> Description:
    """The description of something withdrawn, out of ``Identifier.description``.

    It is for everybody: what it names of this hub and was hidden since it was frozen is left out.

    Raises:
        TypeError: it is not one.
    """
    frozen = freeze.load(data)
    addresses = [*(one.pid for one in frozen.derived_from), *(one.pid for one in frozen.datasets)]
    addresses += [address for one in frozen.activities for address in one.used]
    hidden = _hidden({address for address in addresses if address})
    return _without(frozen, hidden) if hidden else frozen


def ark_of(name: str) -> str:
    """The identifier as it is cited: ``ark:/NAAN/name``."""
    return ark.written(settings.NAAN, name)


def ark_name(text: str) -> str:
    """The name in an ARK of this hub, or in an address that ends in one; "" in all else."""
    _, lead, rest = text.partition("ark:")
    return _name_of(f"{lead}{rest}") if lead else ""


def pid_url(name: str) -> str:
    """The address by which this hub resolves an identifier, and by which the thing is cited."""
    return f"{settings.HUB_URL}/{ark_of(name)}"


def doi_url(identifier: Identifier) -> str | None:
    """``https://doi.org/...`` where one is registered."""
    return f"{DOI_RESOLVER}/{identifier.doi}" if identifier.doi else None


def dois_due() -> QuerySet[Identifier]:
    """Identifiers of whose DOIs DataCite is to be told something, the longest waiting first."""
    rows = Identifier.objects.exclude(doi="").filter(doi_due_at__isnull=False)
    return rows.order_by("doi_due_at", "pk")


def _name_of(text: str) -> str:
    """The name that ``text`` asks for; "" where it cannot be one of this hub's.

    Names minted for tests are answered for after the hub was given a NAAN, too.
    """
    if "ark:" not in text.lower():
        name = ark.plain(text)
        return name if name.isascii() and name.isalnum() else ""
    found = ark.parse(text)
    return found.name if found and found.naan in {settings.NAAN, ark.TEST_NAAN} else ""


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
    """Those of ``addresses`` that are identifiers of what is hidden from the public."""
    names = {one: name for one in addresses if (name := ark_name(one))}
    if not names:
        return set()
    left = Q(mlmodel=None, withdrawn_at__isnull=False, description__isnull=False)
    rows = Identifier.objects.filter(name__in=set(names.values()))
    known = rows.filter(left | Q(mlmodel__in=readable_repositories(_ANYBODY)))
    hidden = set(rows.exclude(pk__in=known.values("pk")).values_list("name", flat=True))
    return {address for address, name in names.items() if name in hidden}


def _without(frozen: Description, hidden: AbstractSet[str]) -> Description:
    """``frozen`` without what ``hidden`` identifies; of data sets the card's words stay."""
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
            # Its title names what was forked.
            if one.kind != "fork" or hidden.isdisjoint(one.used)
        ),
    )


def _is_name(full_name: str) -> bool:
    return all(NAME_RE.fullmatch(part) for part in full_name.split("/", 1))


def _not_found(text: str) -> NotFound:
    return NotFound(
        "identifier_not_found",
        f"There is no identifier {text[:100]!r} here, or you may not read what it names.",
        _hint(text),
    )


def _hint(text: str) -> str:
    found = ark.parse(text)
    if found is not None and found.naan not in {settings.NAAN, ark.TEST_NAAN}:
        return f"Others mint under {found.naan}: https://n2t.net/{ark.written(*found)} finds them."
    name = _name_of(text)
    if any(ark.is_checked(naan, name) for naan in (settings.NAAN, ark.TEST_NAAN)):
        return "Sign in if what it names is private."
    return "It was mistyped: its last character does not fit the others."
