"""Sources of a version: resolves names in cards to repositories of this hub.

A source that an author wrote into a card is visible to all readers of that card. A source that the
hub recorded by itself (fork, copy) is shown only to readers who may read the source as well.
"""

import re
from collections.abc import Collection
from urllib.parse import parse_qs

from django.conf import settings
from django.db.models import Q

from registry.errors import NotFound
from registry.fair import ark
from registry.fair.iris import iri
from registry.selectors.fair.identifier import ark_name, ark_of, identifier_get, pid_url
from registry.selectors.repository.mlmodel import (
    repository_get,
    repository_moved,
    repository_replaced,
)
from registry.selectors.repository.revision import revision_get
from registry.states import IdentifierKind, Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel
from registry.validation.findings import InvalidValue
from registry.validation.references import doi_url

#: Relations that the hub records itself, whether or not the card names them.
HUB_RELATIONS = frozenset({Relation.FORK, Relation.COPY})
#: Resolver of ARKs that other organisations minted.
_ARK_RESOLVER = "https://n2t.net"
_DELETED = re.compile(r"(?P<full_name>[^ ]+) \((?P<ark>ark:[^ ]+)\)")


def resolve_source(
    kind: RepositoryKind, text: str, revision: str | None = None
) -> tuple[MLModel | None, str]:
    """The repository that a card names as ``text``, and the commit id of its version if known.

    It is ``(None, "")`` for sources outside this hub. DANGER: the result may be private. Callers
    must not show it to users who may not read it.

    Args:
        kind: Kind of repository that a bare ``namespace/name`` refers to.
        text: ``namespace/name``, an identifier or an address of this hub, or other text.
        revision: A branch, tag or commit of the repository.
    """
    own = text.removeprefix(f"{settings.HUB_URL}/")
    if own.startswith("ark:"):
        return _resolve_ark(own)
    name, _, query = own.partition("?")
    if own != text:
        revision = revision or next(iter(parse_qs(query).get("revision", [])), None)
        if name.startswith("datasets/"):
            kind, name = RepositoryKind.DATASET, name.removeprefix("datasets/")
    mlmodel = _repository(kind, name)
    if mlmodel is None or revision is None:
        return mlmodel, ""
    try:
        return mlmodel, revision_get(mlmodel, revision).oid
    except NotFound:
        moved = repository_replaced(None, kind, name, revision)
        return (moved, revision_get(moved, revision).oid) if moved else (mlmodel, "")


def source_pids(rows: Collection[Derivation]) -> dict[int, str]:
    """Key of a row to the persistent identifier (an address) of its source; one query.

    It identifies the version where that is known, else all versions together. Withdrawn sources
    count only if their record was kept. A row whose source was deleted holds its identifier: a
    repository that later took the same name is not mistaken for it.
    """
    sources = {row.source_mlmodel_id for row in rows if row.source_mlmodel_id}
    deleted = {row.pk: _deleted_name(row.source) for row in rows if row.source_mlmodel_id is None}
    has_record = Q(withdrawn_at__isnull=False, description__isnull=False)
    oids = {row.source_oid for row in rows if row.source_oid}
    condition = Q(mlmodel__in=sources) & (Q(withdrawn_at=None) | has_record)
    condition &= Q(kind=IdentifierKind.CONCEPT) | Q(oid__in=oids)
    condition |= Q(name__in={name for name in deleted.values() if name}) & has_record
    urls: dict[tuple[int, str] | str, str] = {}
    columns = ("mlmodel", "kind", "oid", "name")
    identifiers = Identifier.objects.filter(condition).order_by("pk")
    for source, kind, oid, name in identifiers.values_list(*columns):
        urls[name] = pid_url(name)
        urls[source, oid if kind == IdentifierKind.VERSION else ""] = pid_url(name)
    pids = {}
    for row in rows:
        if (source := row.source_mlmodel_id) is None:
            pid = urls.get(deleted[row.pk])
        else:
            pid = urls.get((source, row.source_oid)) or urls.get((source, ""))
        if pid:
            pids[row.pk] = pid
    return pids


def deleted_source(full_name: str, name: str) -> str:
    """``Derivation.source`` of a deleted repository whose record is kept under the ARK ``name``."""
    return f"{full_name} ({ark_of(name)})"


def source_name(text: str) -> str:
    """The repository or text that ``Derivation.source`` names, without an identifier."""
    match = _DELETED.fullmatch(text)
    return match["full_name"] if match else text


def source_url(text: str) -> str | None:
    """The address of a source outside this hub, if the card gives an address or identifier."""
    if text.startswith(("http://", "https://")):
        return iri(text)
    if ark.parse(text) is not None:
        return iri(f"{_ARK_RESOLVER}/{text}")
    try:
        return doi_url(text)
    except InvalidValue:
        return None


def source_version_url(row: Derivation) -> str | None:
    """The address of an imported version on its server: servers of the Hub protocol have one for
    each commit."""
    return iri(f"{row.source}/tree/{row.source_oid}")


def _deleted_name(text: str) -> str:
    match = _DELETED.fullmatch(text)
    return ark_name(match["ark"] if match else text)


def _repository(kind: RepositoryKind, full_name: str) -> MLModel | None:
    try:
        return repository_get(None, kind, full_name)
    except NotFound:
        return repository_moved(None, kind, full_name)


def _resolve_ark(text: str) -> tuple[MLModel | None, str]:
    try:
        target = identifier_get(None, text)
    except NotFound:
        return None, ""
    return (target.mlmodel, target.identifier.oid) if target.mlmodel else (None, "")
