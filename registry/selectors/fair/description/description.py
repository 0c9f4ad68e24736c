"""What the hub says of a version: the one place where rows, files and card become a description.

What the hub computed is told as computed, whatever the card says; what nobody told is absent. All
of it is for every reader of the version alike: whoever calls has asked whether the reader may.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.cache import cache
from django.db.models import F

from registry.fair.addresses import RepositoryAddress
from registry.fair.card.card import CardFacts
from registry.fair.description import Access, Description, Status
from registry.fair.files import media_type, role
from registry.fair.parts import Evaluation, FairScore, FileDescription
from registry.selectors.fair.description.activity import activities_of, scan_of
from registry.selectors.fair.description.address import place_of
from registry.selectors.fair.description.agent import owner_agent
from registry.selectors.fair.description.built import accuracy_of, hardware_of, software_of
from registry.selectors.fair.description.directory import directory_oid
from registry.selectors.fair.description.done import Done
from registry.selectors.fair.description.making import repetitions_of
from registry.selectors.fair.description.material import Material, material_of
from registry.selectors.fair.description.snippet import snippet_of
from registry.selectors.fair.description.source import datasets_of, sources_of
from registry.selectors.fair.description.stamp import stamps_of
from registry.selectors.results.testtensor import test_path
from registry.selectors.search.hub import this_hub
from registry.states import ArchitectureClass, Gate, RefKind, Visibility
from registry.tables import Assessment, Blob, MLModel, Ref, Revision

#: Lifetime in seconds of a cached description. It bounds how long changes stay unnoticed that
#: :mod:`registry.selectors.fair.description.stamp` does not see, such as a data set that is hidden.
_LIFETIME_S = 60
#: What a description says as the card says it.
AS_WRITTEN = (
    *("description", "body", "creators", "contributors", "contact", "funding", "license"),
    *("use_restrictions", "keywords", "languages", "intended_use", "out_of_scope", "limitations"),
    *("ethics", "usage", "code", "papers", "emissions", "unknown"),
)


def describe(revision: Revision) -> Description:
    """The description of one version.

    Args:
        revision: Of an MLModel or data set, which comes with its namespace.
    """
    return describe_revisions([revision])[0]


def describe_many(mlmodels: Sequence[MLModel]) -> list[Description]:
    """The descriptions of the newest versions of MLModels and data sets, in the given order.

    Takes a fixed number of queries, however many there are.

    Args:
        mlmodels: With their namespaces. One without a default branch is left out.
    """
    heads = Ref.objects.filter(
        mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    ).select_related("revision")
    found = {head.mlmodel_id: head.revision for head in heads}
    revisions = []
    for mlmodel in mlmodels:
        revision = found.get(mlmodel.pk)
        if revision is not None:
            revision.mlmodel = mlmodel
            revisions.append(revision)
    return describe_revisions(revisions)


def describe_revisions(revisions: Sequence[Revision]) -> list[Description]:
    """The descriptions of versions, in the given order, by a fixed number of queries.

    Args:
        revisions: With their MLModels and namespaces.
    """
    if not revisions:
        return []
    hub = (this_hub(), settings.NAAN)
    keys = {pk: _key(stamp, hub) for pk, stamp in stamps_of(revisions).items()}
    known: dict[str, Description] = cache.get_many(set(keys.values()))
    missing = [one for one in revisions if keys[one.pk] not in known]
    if missing:
        material = material_of(missing)
        made = {keys[one.pk]: _description(one, material) for one in missing}
        cache.set_many(made, _LIFETIME_S)
        known |= made
    return [known[keys[one.pk]] for one in revisions]


def _key(*parts: object) -> str:
    return f"description-{hashlib.sha256(repr(parts).encode()).hexdigest()}"


def _description(revision: Revision, material: Material) -> Description:
    mlmodel, pk = revision.mlmodel, revision.pk
    place = place_of(mlmodel)
    told, network = material.told[pk], material.networks.get(pk)
    builds = material.builds.get(pk, ())
    is_known = network is not None and network.architecture_class != ArchitectureClass.OTHER
    categories = (network.architecture_class,) if network and is_known else ()
    return Description(
        hub=this_hub(),
        **_identity(revision, material, place),
        **_provenance(revision, material, place),
        **{name: getattr(told.card, name) for name in AS_WRITTEN},
        owner=owner_agent(mlmodel.namespace, material.users.values()),
        access=_access(mlmodel),
        status=_status(mlmodel),
        task=told.task,
        library=told.library,
        software=software_of(builds),
        categories=categories,
        architectures=told.architectures,
        files=tuple(
            _file(row.path, place.file(revision.oid, row.path), row.blob)
            for row in material.files.get(pk, ())
        ),
        network=network,
        tests=_tests(revision, material, place),
        evaluations=(*_figures(told.card, place), *accuracy_of(builds, told.task)),
        snippet=snippet_of(place, revision.oid, network),
        builds=tuple(one.described for one in builds),
        tuned_on=hardware_of(builds),
        scan=scan_of(material.past[pk]),
        fair=_fair(material.assessments.get(pk), place, revision.oid),
    )


def _identity(revision: Revision, material: Material, place: RepositoryAddress) -> dict[str, Any]:
    """What it is called, where it is, and since when."""
    mlmodel, oid = revision.mlmodel, revision.oid
    names, card = material.names[revision.pk], material.told[revision.pk].card
    # A fork's versions are older than the fork; nobody could read them here before.
    published = max(revision.created_at, mlmodel.created_at)
    changes = (one.row.created_at for one in material.builds.get(revision.pk, ()))
    return {
        "kind": place.kind,
        "repository": mlmodel.full_name,
        "name": mlmodel.name,
        "pid": names.pid,
        "concept_pid": names.concept_pid,
        "doi": names.doi,
        "landing": place.version(oid),
        "concept_landing": place.concept,
        "linkset_url": place.version(oid, "/linkset"),
        "crate_url": place.version(oid, "/crate"),
        "title": card.title or mlmodel.name,
        "version": names.tag or card.version or oid[:10],
        "versions": names.versions,
        "oid": oid,
        "tree_oid": directory_oid(revision, material.files.get(revision.pk, ())),
        "created": revision.created_at,
        "published": published,
        "modified": max((published, mlmodel.updated_at, *changes)),
    }


def _provenance(revision: Revision, material: Material, place: RepositoryAddress) -> dict[str, Any]:
    """What it was made from, and what was done with it."""
    pk, oid, card = revision.pk, revision.oid, material.told[revision.pk].card
    sources = sources_of(material.sources.get(pk, ()), revision.mlmodel, material.source_pids)
    datasets = datasets_of(card.datasets, revision.mlmodel, material.datasets)
    files = {row.path: place.file(oid, row.path) for row in material.files.get(pk, ())}
    tests = [row for row in material.tests.get(pk, ()) if row.is_made]
    done = Done(
        revision=revision,
        place=place,
        names=material.names[pk],
        sources=sources,
        datasets=datasets,
        emissions=card.emissions,
        people=material.people,
        builds=material.builds.get(pk, ()),
        past=material.past[pk],
        circumstances=material.circumstances,
        repeaters=material.repeaters,
        tests=[place.test(oid, test_path(row)) for row in tests],
        urls=files,
        digests={row.blob_id: files[row.path] for row in material.files.get(pk, ())},
    )
    return {
        "derived_from": sources,
        "datasets": datasets,
        "activities": activities_of(done),
        "activities_omitted": done.past.omitted,
        "repetitions": repetitions_of(done),
    }


def _figures(card: CardFacts, place: RepositoryAddress) -> tuple[Evaluation, ...]:
    """The card's figures; those that it names a source of elsewhere are somebody else's."""
    own = (place.concept, *([card.code.url] if card.code else []))
    papers = {paper.url for paper in card.papers}
    return tuple(
        replace(one, by="third party")
        if one.url and one.url not in papers and not one.url.startswith(own)
        else one
        for one in card.evaluations
    )


def _tests(
    revision: Revision, material: Material, place: RepositoryAddress
) -> tuple[FileDescription, ...]:
    """Test tensors; those that were published are files of the version, and stand as such."""
    published = {(row.path, row.blob_id) for row in material.files.get(revision.pk, ())}
    found = []
    for row in material.tests.get(revision.pk, ()):
        path = test_path(row)
        is_published = (path, row.blob_id) in published
        url = place.file(revision.oid, path) if is_published else place.test(revision.oid, path)
        found.append(_file(path, url, row.blob))
    return tuple(found)


def _file(path: str, url: str, blob: Blob) -> FileDescription:
    return FileDescription(
        path=path,
        url=url,
        size_bytes=blob.size_bytes,
        sha256=blob.sha256,
        media_type=media_type(path),
        role=role(path),
    )


def _access(mlmodel: MLModel) -> Access:
    is_open = mlmodel.visibility == Visibility.PUBLIC and mlmodel.gate == Gate.OPEN
    return "open access" if is_open else "restricted access"


def _status(mlmodel: MLModel) -> Status:
    return "public" if mlmodel.visibility == Visibility.PUBLIC else "draft"


def _fair(row: Assessment | None, place: RepositoryAddress, oid: str) -> FairScore | None:
    if row is None:
        return None
    return FairScore(
        points=row.points,
        of=row.most,
        at=row.created_at,
        tool=row.tool,
        url=place.version(oid, "/fair"),
    )
