"""Inputs of descriptions: rows and files of versions, read in a fixed number of queries."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from registry.fair.parts import Agent, NetworkDescription
from registry.selectors.fair.description.agents import person_agent, users_of
from registry.selectors.fair.description.builds import DescribedBuild, describe_builds, live_builds
from registry.selectors.fair.description.files import listed_files
from registry.selectors.fair.description.history import (
    History,
    MeasurementIndex,
    agent_keys,
    histories_of,
    measurement_index,
    records_to_read,
    uploaders_of,
)
from registry.selectors.fair.description.identifiers import VersionIdentifiers, identifiers_of
from registry.selectors.fair.description.lineage import HubDataset, hub_datasets
from registry.selectors.fair.description.measurements import measurement_details
from registry.selectors.fair.description.metadata import DeclaredMetadata, declared_metadata
from registry.selectors.fair.hub import repository_address
from registry.selectors.fair.source import source_pids
from registry.selectors.results.datatable import Tables, data_tables
from registry.selectors.results.graph import network_of
from registry.selectors.results.testtensor import test_path
from registry.states import RepositoryKind
from registry.tables import Assessment, Derivation, File, Graph, Revision, TestTensor, User


@dataclass(frozen=True, slots=True, kw_only=True)
class DescriptionInputs:
    """Mappings by key of the revision, unless stated otherwise; empty values have no key.

    Attributes:
        files: With their blobs, by path; see
            :func:`registry.selectors.fair.description.files.listed_files`.
        networks: Of the primary ONNX file.
        tables: Of files of data sets; gated ones are included.
        tests: Test tensors of the network with their blobs, by set, inputs first.
        builds: Live ones; withdrawn ones are in ``histories``.
        measurements, uploaders: Of all revisions together.
        source_pids: See :func:`registry.selectors.fair.source.source_pids`.
        datasets: See :func:`registry.selectors.fair.description.lineage.hub_datasets`.
        users, agents: Owners, authors and requesters of jobs, by key of the user.
        assessments: The newest.
    """

    files: Mapping[int, Sequence[File]]
    metadata: Mapping[int, DeclaredMetadata]
    identifiers: Mapping[int, VersionIdentifiers]
    networks: Mapping[int, NetworkDescription]
    tables: Tables
    tests: Mapping[int, Sequence[TestTensor]]
    builds: Mapping[int, Sequence[DescribedBuild]]
    histories: Mapping[int, History]
    measurements: MeasurementIndex
    uploaders: Mapping[str, int]
    sources: Mapping[int, Sequence[Derivation]]
    source_pids: Mapping[int, str]
    datasets: Mapping[str, HubDataset]
    users: Mapping[int, User]
    agents: Mapping[int | None, Agent]
    assessments: Mapping[int, Assessment]


def read_inputs(revisions: Sequence[Revision]) -> DescriptionInputs:
    """The inputs of these versions, in a fixed number of queries.

    ``revisions`` come with their MLModels and namespaces.
    """
    keys = [revision.pk for revision in revisions]
    graphs = _graphs(keys)
    tests = _tests(graphs)
    files = listed_files(revisions, _described_paths(graphs, tests))
    metadata = {
        one.pk: declared_metadata(
            one,
            {row.path: row.blob for row in files.get(one.pk, ())},
            repository_address(one.mlmodel),
        )
        for one in revisions
    }
    live, histories = live_builds(keys), histories_of(keys)
    measurements = measurement_details(records_to_read(live, histories.values()))
    builds = describe_builds(live, measurements)
    uploaders = uploaders_of(histories.values())
    sources = _sources(keys)
    people: set[int | None] = set()
    for one in revisions:
        people |= agent_keys(one, builds.get(one.pk, ()), histories[one.pk], uploaders)
    namespaces = [one.mlmodel.namespace for one in revisions]
    users = {user.pk: user for user in users_of(people, namespaces)}
    return DescriptionInputs(
        files=files,
        metadata=metadata,
        identifiers=identifiers_of(revisions),
        networks={key: network_of(graph) for key, graph in graphs.items()},
        tables=_data_tables(revisions, files),
        tests=tests,
        builds=builds,
        histories=histories,
        measurements=measurement_index(live, histories.values(), measurements),
        uploaders=uploaders,
        sources=sources,
        source_pids=source_pids([row for rows in sources.values() for row in rows]),
        datasets=hub_datasets(use.name for one in metadata.values() for use in one.card.datasets),
        users=users,
        agents={key: person_agent(user) for key, user in users.items()},
        assessments=_assessments(keys),
    )


def _described_paths(
    graphs: Mapping[int, Graph], tests: Mapping[int, Sequence[TestTensor]]
) -> dict[int, list[str]]:
    """Key of a revision to the paths of its network and its test tensors."""
    return {
        key: [graph.path, *(test_path(row) for row in tests.get(key, ()))]
        for key, graph in graphs.items()
    }


def _data_tables(revisions: Sequence[Revision], files: Mapping[int, Sequence[File]]) -> Tables:
    datasets = [one.pk for one in revisions if one.mlmodel.kind == RepositoryKind.DATASET]
    return data_tables({row.blob_id for key in datasets for row in files.get(key, ())})


def _graphs(keys: Collection[int]) -> dict[int, Graph]:
    rows = Graph.objects.filter(revision__in=keys, is_primary=True).defer("embedding")
    # As in graph_of, the first by path wins if several are marked primary.
    return {graph.revision_id: graph for graph in rows.order_by("-path")}


def _tests(graphs: Mapping[int, Graph]) -> dict[int, list[TestTensor]]:
    revisions = {graph.pk: key for key, graph in graphs.items()}
    tests: dict[int, list[TestTensor]] = {}
    rows = TestTensor.objects.filter(graph__in=revisions).select_related("blob")
    # As in tests_of: "input" sorts before "output".
    for row in rows.order_by("number", "side", "index"):
        tests.setdefault(revisions[row.graph_id], []).append(row)
    return tests


def _sources(keys: Collection[int]) -> dict[int, list[Derivation]]:
    sources: dict[int, list[Derivation]] = {}
    rows = Derivation.objects.filter(revision__in=keys)
    for row in rows.select_related("source_mlmodel__namespace").order_by("pk"):
        sources.setdefault(row.revision_id, []).append(row)
    return sources


def _assessments(keys: Collection[int]) -> dict[int, Assessment]:
    of_same = Assessment.objects.filter(revision=OuterRef("revision"))
    newest = of_same.order_by("-created_at", "-pk").values("pk")[:1]
    rows = Assessment.objects.filter(revision__in=keys, pk=Subquery(newest)).defer("document")
    return {row.revision_id: row for row in rows}
