"""Assembles descriptions of versions from their inputs, and caches them.

A description is the same for every reader of a version: callers check read access before.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.db.models import F

from registry.fair.activities import FairScore
from registry.fair.addresses import RepositoryAddress
from registry.fair.description import Access, Description, Status
from registry.selectors.fair.description.activities import activities_of, scan_of
from registry.selectors.fair.description.agents import owner_agent
from registry.selectors.fair.description.builds import accuracy_of, hardware_of
from registry.selectors.fair.description.cache import cached
from registry.selectors.fair.description.files import (
    describe_files,
    describe_tests,
    snippet_of,
)
from registry.selectors.fair.description.history import ActivityInputs
from registry.selectors.fair.description.hub_activities import repetitions_of
from registry.selectors.fair.description.inputs import DescriptionInputs, read_inputs
from registry.selectors.fair.description.lineage import describe_datasets, describe_sources
from registry.selectors.fair.description.originals import creators_of_originals
from registry.selectors.fair.hub import repository_address, this_hub
from registry.selectors.results.testtensor import test_path
from registry.states import ArchitectureClass, Gate, RefKind, Visibility
from registry.tables import Assessment, MLModel, Ref, Revision

#: Fields of a description that are copied from the card.
CARD_FIELDS = (
    *("description", "body", "creators", "contributors", "contact", "funding", "license"),
    *("use_restrictions", "keywords", "languages", "intended_use", "out_of_scope", "limitations"),
    *("ethics", "usage", "code", "papers", "model_index", "emissions", "unknown"),
)


def describe(revision: Revision) -> Description:
    """The description of one version, with its MLModel or data set and the namespace of that."""
    return describe_revisions([revision])[0]


def describe_many(mlmodels: Sequence[MLModel]) -> list[Description]:
    """Descriptions of the newest versions of MLModels and data sets, in the given order.

    The number of queries is fixed. ``mlmodels`` come with their namespaces; those without a default
    branch are left out.
    """
    return describe_revisions(_heads(mlmodels))


def _heads(mlmodels: Sequence[MLModel]) -> list[Revision]:
    """The newest versions of those that have a default branch."""
    heads = Ref.objects.filter(
        mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    ).select_related("revision")
    newest = {head.mlmodel_id: head.revision for head in heads}
    revisions = []
    for mlmodel in mlmodels:
        revision = newest.get(mlmodel.pk)
        if revision is not None:
            revision.mlmodel = mlmodel
            revisions.append(revision)
    return revisions


def describe_revisions(revisions: Sequence[Revision]) -> list[Description]:
    """Descriptions of versions, in the given order, in a fixed number of queries.

    ``revisions`` come with their MLModels and namespaces.
    """
    return cached(revisions, _describe_all) if revisions else []


def _describe_all(revisions: Sequence[Revision]) -> list[Description]:
    inputs = read_inputs(revisions)
    creators = creators_of_originals(revisions, inputs, describe_revisions)
    described = [_assemble(one, inputs) for one in revisions]
    return [
        replace(made, creators=creators[one.pk]) if one.pk in creators else made
        for one, made in zip(revisions, described, strict=True)
    ]


def _assemble(revision: Revision, inputs: DescriptionInputs) -> Description:
    mlmodel, pk, oid = revision.mlmodel, revision.pk, revision.oid
    address = repository_address(mlmodel)
    metadata, network = inputs.metadata[pk], inputs.networks.get(pk)
    files, builds = inputs.files.get(pk, ()), inputs.builds.get(pk, ())
    is_classified = network is not None and network.architecture_class != ArchitectureClass.OTHER
    return Description(
        hub=this_hub(),
        **_identity(revision, inputs, address),
        **_provenance(revision, inputs, address),
        **{name: getattr(metadata.card, name) for name in CARD_FIELDS},
        owner=owner_agent(mlmodel.namespace, inputs.users.values()),
        access=_access(mlmodel),
        status=_status(mlmodel),
        task=metadata.task,
        library=metadata.library,
        categories=(network.architecture_class,) if network and is_classified else (),
        architectures=metadata.architectures,
        files=describe_files(
            files, address, oid, inputs.tables if mlmodel.gate == Gate.OPEN else {}
        ),
        files_omitted=max(0, revision.file_count - len(files)),
        bytes_omitted=max(0, revision.size_bytes - sum(row.blob.size_bytes for row in files)),
        file_list_url=address.file_list(oid),
        network=network,
        tests=describe_tests(inputs.tests.get(pk, ()), files, address, oid),
        evaluations=(*metadata.card.evaluations, *accuracy_of(builds, metadata.task)),
        snippet=snippet_of(address, oid, network),
        builds=tuple(one.description for one in builds),
        tuned_on=hardware_of(builds),
        scan=scan_of(inputs.histories[pk]),
        fair=_fair_score(inputs.assessments.get(pk), address, oid),
    )


def _identity(
    revision: Revision, inputs: DescriptionInputs, address: RepositoryAddress
) -> dict[str, Any]:
    mlmodel, oid = revision.mlmodel, revision.oid
    identifiers, card = inputs.identifiers[revision.pk], inputs.metadata[revision.pk].card
    # Versions of a fork are older than the fork, and were not readable here before it.
    published = max(revision.created_at, mlmodel.created_at)
    changes = (one.row.created_at for one in inputs.builds.get(revision.pk, ()))
    return {
        "kind": address.kind,
        "repository": mlmodel.full_name,
        "name": mlmodel.name,
        "pid": identifiers.pid,
        "concept_pid": identifiers.concept_pid,
        "doi": identifiers.doi,
        "alternates": identifiers.alternates,
        "landing": address.version(oid),
        "concept_landing": address.concept,
        "linkset_url": address.version(oid, "/linkset"),
        "crate_url": address.version(oid, "/crate"),
        "title": card.title or mlmodel.name,
        "version": identifiers.tag or card.version or oid[:10],
        "versions": identifiers.versions,
        "oid": oid,
        "tree_oid": revision.directory_oid,
        "created": revision.created_at,
        "published": published,
        "modified": max((published, mlmodel.updated_at, *changes)),
    }


def _provenance(
    revision: Revision, inputs: DescriptionInputs, address: RepositoryAddress
) -> dict[str, Any]:
    pk, oid, card = revision.pk, revision.oid, inputs.metadata[revision.pk].card
    sources = describe_sources(inputs.sources.get(pk, ()), revision.mlmodel, inputs.source_pids)
    datasets = describe_datasets(card.datasets, revision.mlmodel, inputs.datasets)
    files = inputs.files.get(pk, ())
    urls = {row.path: address.file(oid, row.path) for row in files}
    tests = [row for row in inputs.tests.get(pk, ()) if row.is_made]
    activity_inputs = ActivityInputs(
        revision=revision,
        address=address,
        identifiers=inputs.identifiers[pk],
        sources=sources,
        datasets=datasets,
        emissions=card.emissions,
        agents=inputs.agents,
        builds=inputs.builds.get(pk, ()),
        history=inputs.histories[pk],
        measurements=inputs.measurements,
        uploaders=inputs.uploaders,
        tests=[address.test(oid, test_path(row)) for row in tests],
        urls=urls,
        digests={row.blob_id: urls[row.path] for row in files},
    )
    return {
        "derived_from": sources,
        "datasets": datasets,
        "activities": activities_of(activity_inputs),
        "activities_omitted": inputs.histories[pk].omitted,
        "repetitions": repetitions_of(activity_inputs),
    }


def _access(mlmodel: MLModel) -> Access:
    is_open = mlmodel.visibility == Visibility.PUBLIC and mlmodel.gate == Gate.OPEN
    return "open access" if is_open else "restricted access"


def _status(mlmodel: MLModel) -> Status:
    return "public" if mlmodel.visibility == Visibility.PUBLIC else "draft"


def _fair_score(row: Assessment | None, address: RepositoryAddress, oid: str) -> FairScore | None:
    if row is None:
        return None
    return FairScore(
        points=row.points,
        of=row.most,
        at=row.created_at,
        tool=row.tool,
        url=address.version(oid, "/fair"),
    )
