"""The comparison of published builds over models, targets, backends and tolerance classes.

Nothing here tells models that the actor may not read from models that do not exist.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.scenarios import Scenario
from registry.selectors.access import Actor, readable_builds
from registry.selectors.analysis.measuredbuild import METRICS, MeasuredBuild, measured_builds
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.states import ToleranceClass
from registry.tables import Build, Graph

#: Models and builds that one comparison may name, and builds that it shows.
MOST_MODELS, MOST_NAMED, MOST_SHOWN = 20, 24, 200


@dataclass(frozen=True, slots=True)
class ComparisonQuery:
    """What to compare; empty parts do not restrict.

    Attributes:
        builds: UUIDs of builds, which are compared in this order, also withdrawn ones.
        models: ``namespace/name``, or ``namespace/name@revision``.
        tolerances: Tolerance classes.
        accuracy: Least accuracy, 0 to 1.
        latency_ns: Largest latency.
    """

    builds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    tolerances: tuple[str, ...] = ()
    accuracy: float | None = None
    latency_ns: float | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.builds or self.models)

    @property
    def is_limited(self) -> bool:
        """Whether the query has limits."""
        return self.accuracy is not None or self.latency_ns is not None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Builds to compare.

    Attributes:
        builds: Those named first; then by model, target and latency.
        graphs: The networks of the named models and builds.
        missing: Names in the query that stand for nothing that the actor may read.
        without_network: Readable models of the query whose revision has no inspected network.
        total: Number of builds that match; more than ``builds`` if some were left out.
    """

    query: ComparisonQuery
    builds: list[MeasuredBuild] = field(default_factory=list)
    graphs: list[Graph] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    without_network: list[str] = field(default_factory=list)
    total: int = 0


@dataclass(frozen=True, slots=True)
class LimitAnswer:
    """Which builds meet the limits of a query.

    Attributes:
        fitting: Those that do, cheapest first; builds without a figure for the cost come last.
        unevaluated: Number of builds that no limit on accuracy admits, as it was not evaluated.
        emulated: Number of builds left out because their target is emulated: they say nothing about
            the speed of real machines.
        cost: Name of the metric by which they are ordered.
    """

    fitting: list[MeasuredBuild]
    unevaluated: int
    emulated: int
    cost: str

    @property
    def cheapest(self) -> MeasuredBuild | None:
        measured = [each for each in self.fitting if each.figures[self.cost] is not None]
        return measured[0] if measured else next(iter(self.fitting), None)


def compare(actor: Actor, query: ComparisonQuery) -> Comparison:
    """The builds that ``query`` names or matches, as far as the actor may read them."""
    result = Comparison(query)
    named = _named(actor, query, result)
    graphs = _graphs(actor, query, result)
    rows = _published(graphs, query)
    keys = {build.pk for build in named}
    every = [*named, *(build for build in rows if build.pk not in keys)]
    result.builds.extend(measured_builds(every[:MOST_SHOWN]))
    unique = {graph.pk: graph for graph in [*(build.graph for build in named), *graphs]}
    result.graphs.extend(unique.values())
    return Comparison(
        query, result.builds, result.graphs, result.missing, result.without_network, len(every)
    )


def meeting_limits(comparison: Comparison, cost: str) -> LimitAnswer:
    """The builds within the limits of the query, cheapest by the metric ``cost`` first."""
    query = comparison.query
    fitting, unevaluated, emulated = [], 0, 0
    for each in comparison.builds:
        if each.build.target.is_emulated:
            emulated += 1
            continue
        accuracy, latency = each.figures["accuracy"], each.figures["latency"]
        if query.accuracy is not None and accuracy is None:
            unevaluated += 1
            continue
        is_accurate = query.accuracy is None or (accuracy or 0.0) >= query.accuracy
        is_fast = query.latency_ns is None or (latency or 0.0) <= query.latency_ns
        if is_accurate and is_fast and latency is not None:
            fitting.append(each)
    sign = -1 if METRICS[cost].is_high_better else 1

    def order(each: MeasuredBuild) -> tuple[bool, float, float]:
        value = each.figures[cost]
        return value is None, sign * (value or 0.0), float(each.build.p50_ns)

    return LimitAnswer(sorted(fitting, key=order), unevaluated, emulated, cost)


def _named(actor: Actor, query: ComparisonQuery, result: Comparison) -> list[Build]:
    uuids = list(dict.fromkeys(query.builds))[:MOST_NAMED]
    parsed = {text: parse_uuid(text) for text in uuids}
    rows = _with_relations(readable_builds(actor).filter(uuid__in=filter(None, parsed.values())))
    by_uuid = {build.uuid: build for build in rows}
    result.missing.extend(text[:64] for text, uuid in parsed.items() if uuid not in by_uuid)
    return [by_uuid[uuid] for uuid in parsed.values() if uuid in by_uuid]


def _graphs(actor: Actor, query: ComparisonQuery, result: Comparison) -> list[Graph]:
    graphs = []
    for text in list(dict.fromkeys(query.models))[:MOST_MODELS]:
        name, _, rev = text.partition("@")
        try:
            revision = revision_get(mlmodel_get(actor, name), rev or None)
        except NotFound:
            result.missing.append(text[:200])
            continue
        graph = graph_of(revision)
        if graph is None:
            result.without_network.append(text[:200])
        else:
            graphs.append(graph)
    return graphs


def _published(graphs: Sequence[Graph], query: ComparisonQuery) -> list[Build]:
    published = Build.objects.filter(
        graph__in=graphs, scenario=Scenario.SINGLE_STREAM, withdrawn_at=None
    )
    rows = _with_relations(published)
    if query.targets:
        rows = rows.filter(target__slug__in=query.targets)
    if query.tolerances:
        classes = [name for name in query.tolerances if name in ToleranceClass.values]
        rows = rows.filter(tolerance__in=classes)
    at = {graph.pk: number for number, graph in enumerate(graphs)}
    chosen = [
        build
        for build in rows
        if not query.backends or build.candidate["backend"] in query.backends
    ]
    return sorted(chosen, key=lambda one: (at[one.graph_id], one.target.slug, one.p50_ns, one.pk))


def _with_relations(rows: QuerySet[Build]) -> QuerySet[Build]:
    rows = rows.select_related("target", "record__device", "graph__revision__mlmodel__namespace")
    return rows.defer("record__document", "record__envelope", "provenance", "graph__embedding")
