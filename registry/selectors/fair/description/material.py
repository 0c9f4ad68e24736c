"""Everything that descriptions of some versions are made of, read at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import OuterRef, Subquery

from registry.fair.parts import Agent, Network
from registry.selectors.fair.description.activity import people_in
from registry.selectors.fair.description.address import place_of
from registry.selectors.fair.description.agent import person_agent, users_of
from registry.selectors.fair.description.built import Built, built_of, live_builds
from registry.selectors.fair.description.facts import Told, told_of
from registry.selectors.fair.description.measured import measured_of
from registry.selectors.fair.description.naming import Names, names_of
from registry.selectors.fair.description.past import (
    Circumstances,
    Past,
    circumstances_of,
    documents_of,
    past_of,
    repeaters_of,
)
from registry.selectors.fair.description.source import KnownDataset, known_datasets, pids_of
from registry.selectors.results.graph import network_of
from registry.tables import (
    Assessment,
    Derivation,
    File,
    Graph,
    Revision,
    TestTensor,
    User,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """By key of the revision, unless told otherwise; what there is none of is not there.

    Attributes:
        files: With their blobs, by path.
        networks: Of the primary ONNX file.
        tests: Its test tensors, by set, inputs first, with their blobs.
        past: What was done beside what the builds tell; ``circumstances`` and ``repeaters`` are
            of all revisions together.
        source_pids: See :func:`registry.selectors.fair.description.source.pids_of`.
        datasets: See :func:`registry.selectors.fair.description.source.known_datasets`.
        users: By their keys: owners, authors, and who asked for jobs; ``people`` as records name
            them.
        assessments: The newest.
    """

    files: Mapping[int, Sequence[File]]
    told: Mapping[int, Told]
    names: Mapping[int, Names]
    networks: Mapping[int, Network]
    tests: Mapping[int, Sequence[TestTensor]]
    builds: Mapping[int, Sequence[Built]]
    past: Mapping[int, Past]
    circumstances: Circumstances
    repeaters: Mapping[str, int]
    sources: Mapping[int, Sequence[Derivation]]
    source_pids: Mapping[int, str]
    datasets: Mapping[str, KnownDataset]
    users: Mapping[int, User]
    people: Mapping[int | None, Agent]
    assessments: Mapping[int, Assessment]


def material_of(revisions: Sequence[Revision]) -> Material:
    """By a fixed number of queries, however many revisions there are.

    Args:
        revisions: With their MLModels and namespaces.
    """
    keys = [revision.pk for revision in revisions]
    files = _files(keys)
    told = {
        one.pk: told_of(
            one, {row.path: row.blob for row in files.get(one.pk, ())}, place_of(one.mlmodel)
        )
        for one in revisions
    }
    live, past = live_builds(keys), past_of(keys)
    measured = measured_of(documents_of(live, past.values()))
    builds = built_of(live, measured)
    repeaters = repeaters_of(past.values())
    graphs = _graphs(keys)
    sources = _sources(keys)
    namespaces = [one.mlmodel.namespace for one in revisions]
    people: set[int | None] = set()
    for one in revisions:
        people |= people_in(one, builds.get(one.pk, ()), past[one.pk], repeaters)
    users = {user.pk: user for user in users_of(people, namespaces)}
    return Material(
        files=files,
        told=told,
        names=names_of(revisions),
        networks={key: network_of(graph) for key, graph in graphs.items()},
        tests=_tests(graphs),
        builds=builds,
        past=past,
        circumstances=circumstances_of(live, past.values(), measured),
        repeaters=repeaters,
        sources=sources,
        source_pids=pids_of([row for rows in sources.values() for row in rows]),
        datasets=known_datasets(use.name for one in told.values() for use in one.card.datasets),
        users=users,
        people={key: person_agent(user) for key, user in users.items()},
        assessments=_assessments(keys),
    )


def _files(keys: Collection[int]) -> dict[int, list[File]]:
    found: dict[int, list[File]] = {}
    rows = File.objects.filter(revision__in=keys).select_related("blob")
    for row in rows.order_by("path"):
        found.setdefault(row.revision_id, []).append(row)
    return found


def _graphs(keys: Collection[int]) -> dict[int, Graph]:
    rows = Graph.objects.filter(revision__in=keys, is_primary=True).defer("embedding")
    # As graph_of: were there two, the first by path counts.
    return {graph.revision_id: graph for graph in rows.order_by("-path")}


def _tests(graphs: Mapping[int, Graph]) -> dict[int, list[TestTensor]]:
    revision_of = {graph.pk: key for key, graph in graphs.items()}
    found: dict[int, list[TestTensor]] = {}
    rows = TestTensor.objects.filter(graph__in=revision_of).select_related("blob")
    # As tests_of: "input" comes before "output" in every alphabet.
    for row in rows.order_by("number", "side", "index"):
        found.setdefault(revision_of[row.graph_id], []).append(row)
    return found


def _sources(keys: Collection[int]) -> dict[int, list[Derivation]]:
    found: dict[int, list[Derivation]] = {}
    rows = Derivation.objects.filter(revision__in=keys)
    for row in rows.select_related("source_mlmodel__namespace").order_by("pk"):
        found.setdefault(row.revision_id, []).append(row)
    return found


def _assessments(keys: Collection[int]) -> dict[int, Assessment]:
    of_same = Assessment.objects.filter(revision=OuterRef("revision"))
    newest = of_same.order_by("-created_at", "-pk").values("pk")[:1]
    rows = Assessment.objects.filter(revision__in=keys, pk=Subquery(newest)).defer("document")
    return {row.revision_id: row for row in rows}
