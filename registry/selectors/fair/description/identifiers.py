"""Persistent identifiers, tags and sibling versions of versions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import F, Q
from django.db.models.expressions import RawSQL

from registry.selectors.fair.alternate import alternates_of
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.identifier import DOI_RESOLVER, pid_url
from registry.selectors.repository.revision import is_empty_start
from registry.states import IdentifierKind, RefKind
from registry.tables import Identifier, Ref, Revision

#: Upper bound on the versions that a record lists; older ones are left out.
MAX_VERSIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionIdentifiers:
    """Identifiers of one version.

    Attributes:
        pid, concept_pid: Persistent identifiers as addresses; those of the pages before any was
            minted.
        versions: Identifiers of all versions: the head of the default branch, then the others of
            that branch and the tagged ones, newest first. This version is among them.
        tag: The oldest tag of the version.
        alternates: Identifiers of the same files at the hub that they were imported from.
    """

    pid: str
    concept_pid: str
    doi: str | None
    versions: tuple[str, ...]
    tag: str | None
    alternates: tuple[str, ...]


def identifiers_of(revisions: Sequence[Revision]) -> dict[int, VersionIdentifiers]:
    """Key of a revision, with its MLModel and namespace, to its identifiers; four queries."""
    mlmodels = {revision.mlmodel_id for revision in revisions}
    heads = dict(
        Ref.objects.filter(
            mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
        ).values_list("mlmodel", "revision")
    )
    tag_rows = Ref.objects.filter(mlmodel__in=mlmodels, kind=RefKind.TAG)
    tags: dict[int, str] = {}
    for revision, name in tag_rows.order_by("pk").values_list("revision", "name"):
        tags.setdefault(revision, name)
    concepts: dict[int, str] = {}
    versions: dict[int, dict[int, tuple[str, str]]] = {}
    own = [revision.pk for revision in revisions]
    alternates = alternates_of(own)
    for mlmodel, version, name, doi in _rows(mlmodels, own, list(heads.values()), tags):
        if version is None:
            concepts[mlmodel] = pid_url(name)
        else:
            versions.setdefault(mlmodel, {})[version] = (pid_url(name), doi)
    return {
        revision.pk: _identifiers(
            revision,
            concepts.get(revision.mlmodel_id),
            versions.get(revision.mlmodel_id, {}),
            heads.get(revision.mlmodel_id),
            tags.get(revision.pk),
            alternates.get(revision.pk, ()),
        )
        for revision in revisions
    }


def _rows(
    mlmodels: set[int], own: list[int], heads: list[int], tags: Mapping[int, str]
) -> list[tuple[int, int | None, str, str]]:
    """MLModel, revision (``None``: all versions together), name and DOI; the newest first."""
    condition = Q(kind=IdentifierKind.CONCEPT) | Q(revision__in=[*own, *tags])
    if heads:
        condition |= Q(revision__in=_ancestries(heads))
    # Older hubs gave an identifier to the empty first commit too; it is no version of its own.
    is_version = Q(revision__in=own) | Q(~is_empty_start("revision"))
    rows = Identifier.objects.filter(condition, is_version, mlmodel__in=mlmodels, withdrawn_at=None)
    columns = ("mlmodel", "revision", "name", "doi")
    return [
        (mlmodel, revision, name, doi)
        for mlmodel, revision, name, doi in rows.order_by("-revision", "pk").values_list(*columns)
        if mlmodel is not None
    ]


def _ancestries(heads: list[int]) -> RawSQL:
    """Keys of these revisions and of their ancestors, :data:`MAX_VERSIONS` of each line."""
    placeholders = ", ".join(["%s"] * len(heads))
    return RawSQL(  # noqa: S611 - only placeholders are interpolated
        f"""
        WITH RECURSIVE line (id, parent_id, depth) AS (
            SELECT id, parent_id, 1 FROM registry_revision WHERE id IN ({placeholders})
            UNION ALL
            SELECT r.id, r.parent_id, depth + 1
            FROM registry_revision r JOIN line ON r.id = line.parent_id
            WHERE depth < %s
        )
        SELECT id FROM line
        """,  # noqa: S608
        (*heads, MAX_VERSIONS),
    )


def _identifiers(
    revision: Revision,
    concept: str | None,
    versions: dict[int, tuple[str, str]],
    head: int | None,
    tag: str | None,
    alternates: tuple[str, ...],
) -> VersionIdentifiers:
    address = repository_address(revision.mlmodel)
    pid, doi = versions.get(revision.pk, (address.version(revision.oid), ""))
    # Keys grow with time, but a tagged version of another branch may be newer than the head.
    order = sorted(versions, key=lambda key: (key != head, -key))
    newest = [versions[key][0] for key in order[:MAX_VERSIONS]]
    return VersionIdentifiers(
        pid=pid,
        concept_pid=concept or address.concept,
        doi=f"{DOI_RESOLVER}/{doi}" if doi else None,
        versions=tuple(dict.fromkeys((*newest, pid))),
        tag=tag,
        alternates=alternates,
    )
