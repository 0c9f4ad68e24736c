"""What versions are called: their persistent identifiers, their tags, and their siblings."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Q
from django.db.models.expressions import RawSQL

from registry.selectors.fair.description.address import place_of
from registry.selectors.fair.identifier import DOI_RESOLVER, pid_url
from registry.states import IdentifierKind, RefKind
from registry.tables import Identifier, Ref, Revision

#: Versions that a record lists; nobody reads more.
MAX_VERSIONS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """Names of one version.

    Attributes:
        pid, concept_pid: Addresses. Before anything was minted, those of the pages.
        versions: Identifiers of all versions: the default branch's newest first, then the others
            of that branch and those with a tag, newest first; this one is among them.
        tag: The first tag that it was given.
    """

    pid: str
    concept_pid: str
    doi: str | None
    versions: tuple[str, ...]
    tag: str | None


def names_of(revisions: Sequence[Revision]) -> dict[int, Names]:
    """For lists: key of a revision to its names, by three queries.

    Args:
        revisions: With their MLModels and namespaces.
    """
    mlmodels = {revision.mlmodel_id for revision in revisions}
    heads = dict(
        Ref.objects.filter(
            mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
        ).values_list("mlmodel", "revision")
    )
    tagged = Ref.objects.filter(mlmodel__in=mlmodels, kind=RefKind.TAG)
    tags: dict[int, str] = {}
    for revision, name in tagged.order_by("pk").values_list("revision", "name"):
        tags.setdefault(revision, name)
    concepts: dict[int, str] = {}
    versions: dict[int, dict[int, tuple[str, str]]] = {}
    own = [revision.pk for revision in revisions]
    for mlmodel, version, name, doi in _identifiers(mlmodels, own, list(heads.values()), tags):
        if version is None:
            concepts[mlmodel] = pid_url(name)
        else:
            versions.setdefault(mlmodel, {})[version] = (pid_url(name), doi)
    return {
        revision.pk: _names(
            revision,
            concepts.get(revision.mlmodel_id),
            versions.get(revision.mlmodel_id, {}),
            heads.get(revision.mlmodel_id),
            tags.get(revision.pk),
        )
        for revision in revisions
    }


def _identifiers(
    mlmodels: set[int], own: list[int], heads: list[int], tags: dict[int, str]
) -> list[tuple[int, int | None, str, str]]:
    """MLModel, revision (``None``: all versions together), name and DOI; the newest first."""
    wanted = Q(kind=IdentifierKind.CONCEPT) | Q(revision__in=[*own, *tags])
    if heads:
        wanted |= Q(revision__in=_lines(heads))
    rows = Identifier.objects.filter(wanted, mlmodel__in=mlmodels, withdrawn_at=None)
    columns = ("mlmodel", "revision", "name", "doi")
    return [
        (mlmodel, revision, name, doi)
        for mlmodel, revision, name, doi in rows.order_by("-revision", "pk").values_list(*columns)
        if mlmodel is not None
    ]


def _lines(heads: list[int]) -> RawSQL:
    """Keys of these revisions and of those they grew from, so many steps back as are listed."""
    places = ", ".join(["%s"] * len(heads))
    return RawSQL(  # noqa: S611 - nothing but placeholders is put in
        f"""
        WITH RECURSIVE line (id, parent_id, depth) AS (
            SELECT id, parent_id, 1 FROM registry_revision WHERE id IN ({places})
            UNION ALL
            SELECT r.id, r.parent_id, depth + 1
            FROM registry_revision r JOIN line ON r.id = line.parent_id
            WHERE depth < %s
        )
        SELECT id FROM line
        """,  # noqa: S608
        (*heads, MAX_VERSIONS),
    )


def _names(
    revision: Revision,
    concept: str | None,
    versions: dict[int, tuple[str, str]],
    head: int | None,
    tag: str | None,
) -> Names:
    place = place_of(revision.mlmodel)
    pid, doi = versions.get(revision.pk, (place.version(revision.oid), ""))
    # Newest by key, but a tag on another branch may be newer than what the model is shown by.
    order = sorted(versions, key=lambda key: (key != head, -key))
    listed = [versions[key][0] for key in order[:MAX_VERSIONS]]
    return Names(
        pid=pid,
        concept_pid=concept or place.concept,
        doi=f"{DOI_RESOLVER}/{doi}" if doi else None,
        versions=tuple(dict.fromkeys((*listed, pid))),
        tag=tag,
    )
