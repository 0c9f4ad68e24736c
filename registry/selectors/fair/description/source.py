"""What a version was made from: found by what a card says, and told in its record.

What an author wrote into a card is there for all readers of that card, whatever it names; what the
hub noted by itself (forks, copies) is told only to those who may read the source as well.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import cast
from urllib.parse import parse_qs

from django.conf import settings
from django.db.models import Q
from django.db.models.functions import Lower
from django.db.models.lookups import In

from registry.errors import NotFound
from registry.fair import ark, parts
from registry.fair.iris import iri
from registry.ids import NAME_RE
from registry.selectors.access import readable_with
from registry.selectors.fair.description.address import place_of
from registry.selectors.fair.identifier import ark_name, ark_of, identifier_get, pid_url
from registry.selectors.repository.mlmodel import repository_get, repository_moved
from registry.selectors.repository.revision import revision_get
from registry.states import IdentifierKind, Relation, RepositoryKind
from registry.tables import Derivation, Identifier, MLModel, Namespace
from registry.validation.findings import Fault
from registry.validation.references import doi_url

#: Written down by the hub, whether or not an author says so.
NOTED = frozenset({Relation.FORK, Relation.COPY})
#: Resolves the ARKs of all others.
_ARK_RESOLVER = "https://n2t.net"
_DELETED = re.compile(r"(?P<full_name>[^ ]+) \((?P<ark>ark:[^ ]+)\)")


@dataclass(frozen=True, slots=True)
class KnownDataset:
    """A data set of this hub; ``pid`` names all its versions together."""

    mlmodel: MLModel
    pid: str | None


def source_of(
    kind: RepositoryKind, text: str, revision: str | None = None
) -> tuple[MLModel | None, str]:
    """What a card means by ``text``, and the commit id of its version where that is told.

    DANGER: private ones, too. Who asks must not be told of what they may not read.

    Args:
        kind: What a bare name is the name of.
        text: ``namespace/name``, an identifier or an address of this hub; else it is elsewhere.
        revision: A branch, tag or commit of it.

    Returns:
        ``None`` and "" for what lies elsewhere.
    """
    own = text.removeprefix(f"{settings.HUB_URL}/")
    if own.startswith("ark:"):
        return _identified(own)
    name, _, query = own.partition("?")
    if own != text:
        revision = revision or next(iter(parse_qs(query).get("revision", [])), None)
        if name.startswith("datasets/"):
            kind, name = RepositoryKind.DATASET, name.removeprefix("datasets/")
    mlmodel = _named(kind, name)
    if mlmodel is None or revision is None:
        return mlmodel, ""
    try:
        return mlmodel, revision_get(mlmodel, revision).oid
    except NotFound:
        return mlmodel, ""


def pids_of(rows: Collection[Derivation]) -> dict[int, str]:
    """For lists: key of a row to the address of its source's persistent identifier.

    That of the version, where it is known; else that of all versions. Of what was withdrawn, one
    version or all, the one that its record is left under, if there is a record. Rows that led to
    what was deleted tell which that is: what merely has the same name is not taken for it.
    """
    sources = {row.source_mlmodel_id for row in rows if row.source_mlmodel_id}
    gone = {row.pk: _ark_name(row.source) for row in rows if row.source_mlmodel_id is None}
    has_record = Q(withdrawn_at__isnull=False, description__isnull=False)
    known = Q(mlmodel__in=sources) & (Q(withdrawn_at=None) | has_record)
    oids = {row.source_oid for row in rows if row.source_oid}
    known &= Q(kind=IdentifierKind.CONCEPT) | Q(oid__in=oids)
    known |= Q(name__in={name for name in gone.values() if name}) & has_record
    found: dict[tuple[int, str] | str, str] = {}
    columns = ("mlmodel", "kind", "oid", "name")
    named = Identifier.objects.filter(known).order_by("pk")
    for source, kind, oid, name in named.values_list(*columns):
        found[name] = pid_url(name)
        found[source, oid if kind == IdentifierKind.VERSION else ""] = pid_url(name)
    pids = {}
    for row in rows:
        if (source := row.source_mlmodel_id) is None:
            pid = found.get(gone[row.pk])
        else:
            pid = found.get((source, row.source_oid)) or found.get((source, ""))
        if pid:
            pids[row.pk] = pid
    return pids


def sources_of(
    rows: Iterable[Derivation], mlmodel: MLModel, pids: Mapping[int, str]
) -> tuple[parts.DerivationDescription, ...]:
    """The sources of a version of ``mlmodel``, as its record names them to all who may read it.

    Args:
        rows: Of the version, with the namespaces of what they lead to.
        pids: See :func:`pids_of`.
    """
    found = (_part(row, mlmodel, pids.get(row.pk)) for row in rows)
    return tuple(dict.fromkeys(part for part in found if part))


def deleted_source(full_name: str, name: str) -> str:
    """``Derivation.source`` for what was deleted, and its record left under the ARK ``name``."""
    return f"{full_name} ({ark_of(name)})"


def called(text: str) -> str:
    """What a source is called, of ``Derivation.source``."""
    found = _DELETED.fullmatch(text)
    return found["full_name"] if found else text


def address_of(text: str) -> str | None:
    """Where what an author wrote leads, if it is an address or an identifier of its own."""
    if text.startswith(("http://", "https://")):
        return iri(text)
    if ark.parse(text) is not None:
        return iri(f"{_ARK_RESOLVER}/{text}")
    try:
        return doi_url(text)
    except Fault:
        return None


def known_datasets(names: Iterable[str]) -> dict[str, KnownDataset]:
    """For lists: those of ``names``, as cards write them, that name data sets of this hub.

    By two queries. DANGER: private ones, too; :func:`datasets_of` tells of what may be told.

    Returns:
        By ``namespace/name`` in lower case.
    """
    wanted = {known for name in names if (known := _dataset_name(name))}
    owners = Namespace.objects.filter(In(Lower("name"), sorted({owner for owner, _ in wanted})))
    rows = MLModel.objects.filter(
        In(Lower("name"), sorted({name for _, name in wanted})),
        kind=RepositoryKind.DATASET,
        namespace__in=owners,
    ).select_related("namespace")
    found = {row.full_name.lower(): row for row in rows} if wanted else {}
    of_these = Identifier.objects.filter(
        mlmodel__in=list(found.values()), kind=IdentifierKind.CONCEPT
    )
    pids = dict(of_these.values_list("mlmodel", "name"))
    return {
        name: KnownDataset(row, pid_url(pids[row.pk]) if row.pk in pids else None)
        for name, row in found.items()
    }


def datasets_of(
    uses: Collection[parts.DatasetUse],
    mlmodel: MLModel,
    known: Mapping[str, KnownDataset] | None = None,
) -> tuple[parts.DatasetUse, ...]:
    """Data sets as the record of a version of ``mlmodel`` names them.

    One of this hub, which all may read who may read ``mlmodel``, with its page and identifier;
    any other as the card has it.

    Args:
        known: See :func:`known_datasets`; looked up where they are not given.
    """
    there = known_datasets(use.name for use in uses) if known is None else known
    return tuple(dict.fromkeys(_placed(use, mlmodel, there) for use in uses))


def _part(row: Derivation, mlmodel: MLModel, pid: str | None) -> parts.DerivationDescription | None:
    relation = cast("parts.RelationName", str(row.relation))
    source = row.source_mlmodel
    if source is not None and readable_with(source, mlmodel):
        place = place_of(source)
        return parts.DerivationDescription(
            relation=relation,
            source=source.full_name,
            url=place.version(row.source_oid) if row.source_oid else place.concept,
            pid=pid,
            oid=row.source_oid or None,
        )
    if source is None and pid is not None:
        oid = row.source_oid or None
        return parts.DerivationDescription(
            relation=relation, source=called(row.source), pid=pid, oid=oid
        )
    if row.relation in NOTED:
        return None
    return parts.DerivationDescription(
        relation=relation, source=row.source, url=address_of(row.source)
    )


def _ark_name(text: str) -> str:
    found = _DELETED.fullmatch(text)
    return ark_name(found["ark"] if found else text)


def _named(kind: RepositoryKind, full_name: str) -> MLModel | None:
    try:
        return repository_get(None, kind, full_name)
    except NotFound:
        return repository_moved(None, kind, full_name)


def _identified(text: str) -> tuple[MLModel | None, str]:
    try:
        found = identifier_get(None, text)
    except NotFound:
        return None, ""
    return (found.mlmodel, found.identifier.oid) if found.mlmodel else (None, "")


def _placed(
    use: parts.DatasetUse, mlmodel: MLModel, known: Mapping[str, KnownDataset]
) -> parts.DatasetUse:
    name = _dataset_name(use.name)
    found = known.get("/".join(name)) if name else None
    if found is None or not readable_with(found.mlmodel, mlmodel):
        return use
    return replace(use, url=place_of(found.mlmodel).concept, pid=found.pid or use.pid)


def _dataset_name(text: str) -> tuple[str, str] | None:
    """Namespace and name in lower case, of a bare name or of an address of this hub."""
    own = text.removeprefix(f"{settings.HUB_URL}/datasets/").partition("?")[0]
    owner, _, name = own.lower().partition("/")
    return (owner, name) if NAME_RE.fullmatch(owner) and NAME_RE.fullmatch(name) else None
