"""Best builds: the rule of :mod:`hpcfair.choice` applied to published builds."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Exists, F, OuterRef, QuerySet

from hpcfair.choice import (
    LoadRequest,
    TargetFacts,
    best_of,
    best_of_each_class,
    best_of_each_limit,
    choose,
)
from hpcfair.outputlimits import BuildFacts, is_accepted
from registry.errors import Invalid
from registry.scenarios import Scenario
from registry.selectors.access import Actor, readable_repositories
from registry.selectors.results.build import with_relations
from registry.selectors.results.graph import graph_of
from registry.selectors.results.inconclusive import being_confirmed, undecided_classes
from registry.selectors.results.reproduction import standings
from registry.selectors.work.target import emulated_targets
from registry.states import RefKind, ToleranceClass
from registry.tables import BestBuild, Build, Graph, Ref, Revision, Target


@dataclass(frozen=True, slots=True)
class FasterBuild:
    """A faster build that a laxer request would bring; ``limits`` as in
    :class:`hpcfair.choice.Looser`."""

    build: Build
    limits: Mapping[str, str | float]


@dataclass(frozen=True, slots=True)
class BuildChoice:
    """The build a machine should load.

    Attributes:
        build: ``None`` to load the published network.
        reason: One or two sentences for people.
        others: Other builds that the machine could load, best first.
        looser: What laxer limits would bring, strictest first.
    """

    build: Build | None
    reason: str
    others: list[Build] = field(default_factory=list)
    looser: list[FasterBuild] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BestBuilds:
    """The builds that machines of their targets load in their scenario, by keys of builds.

    Attributes:
        of_class: Loaded by a user who accepts the build's tolerance class.
        limits: Build to the number for which it is loaded; these builds are the Pareto front.
    """

    of_class: set[int] = field(default_factory=set)
    limits: dict[int, float] = field(default_factory=dict)


def best_build(revision: Revision, request: LoadRequest) -> BuildChoice:
    """The build of a revision's network that a machine should load.

    Raises ``Invalid``: ``accuracy_not_measured``: no build meets any least accuracy.
    """
    graph = graph_of(revision)
    if graph is None:
        return BuildChoice(None, "This revision has no known network: it is not inspected yet.")
    rows = {row.pk: row for row in with_relations(_live().filter(graph=graph))}
    if request.min_accuracy is not None:
        _require_accuracy(rows.values())
    published: dict[TargetFacts, list[BuildFacts]] = {}
    for facts in facts_of(list(rows.values())):
        published.setdefault(_target_facts(rows[facts.key].target), []).append(facts)
    undecided, probable = undecided_classes(revision)
    selection = choose(published, request, undecided)
    best = rows[selection.best] if selection.best is not None else None
    looser = [FasterBuild(rows[each.key], each.limits) for each in selection.looser]
    reason = " ".join([selection.reason, *being_confirmed(probable, best, request)])
    return BuildChoice(best, reason, [rows[key] for key in selection.others], looser)


def accepted_builds(
    builds: Sequence[Build], tolerance: str | float, min_accuracy: float | None = None
) -> list[Build]:
    """The builds whose outputs are within these limits, in their order.

    Raises ``Invalid``: ``accuracy_not_measured``.
    """
    if min_accuracy is not None:
        _require_accuracy(builds)
    return [
        build
        for build, facts in zip(builds, facts_of(builds), strict=True)
        if is_accepted(facts, tolerance, min_accuracy)
    ]


def best_builds(graphs: Collection[int]) -> BestBuilds:
    """The builds of these graphs (keys) that are loaded on their targets."""
    best = BestBuilds()
    rows = _live().filter(graph__in=graphs).defer("runtime_options", "provenance")
    for builds in _by_network(rows).values():
        for tolerance, build in best_of_each_class(builds).items():
            if build.tolerance == tolerance:
                best.of_class.add(build.key)
        best.limits.update(limits_of(builds))
    return best


def limits_of(builds: Collection[BuildFacts]) -> dict[int, float]:
    """:attr:`BestBuilds.limits` of the builds of one network on one target."""
    return {build.key: limit for limit, build in best_of_each_limit(builds).items()}


def best_ratios(
    revisions: Collection[Revision], *, tolerance: str = ToleranceClass.EXACT
) -> dict[int, dict[str, float]]:
    """Key of a revision to slug of a target to the ratio of its best build; 1 for the baseline."""
    rows = _live().filter(
        graph__revision__in=revisions,
        graph__is_primary=True,
        scenario=Scenario.SINGLE_STREAM,
    )
    rows = rows.select_related("graph", "target").order_by("target__slug", "pk")
    ratios: dict[int, dict[str, float]] = {}
    for build in _best_rows(rows, tolerance):
        ratio = 1.0 if build.is_baseline else build.ratio
        ratios.setdefault(build.graph.revision_id, {})[build.target.slug] = ratio
    return ratios


def best_at_heads(
    mlmodels: Collection[int], *, target: Target | None = None
) -> dict[tuple[int, int, str], dict[ToleranceClass, Build]]:
    """Best builds of the networks at the heads of default branches, for each scenario and tolerance
    class.

    Args:
        mlmodels: Keys of MLModels.
        target: The only target to read; ``None`` for all.

    Returns:
        Key of an MLModel, key of a target and scenario to the best build of each class that has
        one.
    """
    heads = Ref.objects.filter(
        mlmodel__in=mlmodels, kind=RefKind.BRANCH, name=F("mlmodel__default_branch")
    )
    owners = {revision: pk for pk, revision in heads.values_list("mlmodel_id", "revision_id")}
    graphs = Graph.objects.filter(revision__in=owners, is_primary=True).order_by("-path")
    # Of several primary graphs the first by path is used, as by graph_of.
    graph_of_owner = {owners[revision]: pk for pk, revision in graphs.values_list("pk", "revision")}
    owner_of = {graph: owner for owner, graph in graph_of_owner.items()}
    if not owner_of:
        return {}
    rows = _live().filter(graph__in=owner_of)
    if target is not None:
        rows = rows.filter(target=target)
    builds = {build.pk: build for build in rows.defer("runtime_options", "provenance")}
    return {
        (owner_of[graph], target_key, scenario): {
            ToleranceClass(tolerance): builds[best.key]
            for tolerance, best in best_of_each_class(facts).items()
        }
        for (graph, target_key, scenario), facts in _by_network(builds.values()).items()
    }


def largest_gains(
    actor: Actor,
    *,
    target: Target | None = None,
    tolerance: str = ToleranceClass.EXACT,
    scenario: str = Scenario.SINGLE_STREAM,
    limit: int = 10,
) -> list[Build]:
    """The best builds for ``scenario`` of all readable models within ``tolerance``, by ratio; no
    baselines.

    They have target, model and record. Without ``target``, those of emulated machines are left out.
    Reads the table of best builds.
    """
    rows = BestBuild.objects.filter(scenario=scenario, tolerance=tolerance, ratio__lt=1)
    if actor is not None:
        # A condition on each row: the database reads the rows in the order of the index.
        rows = rows.filter(Exists(readable_repositories(actor).filter(pk=OuterRef("mlmodel"))))
    if target is not None:
        rows = rows.filter(target=target)
    elif emulated := emulated_targets():
        rows = rows.exclude(target__in=emulated)
    rows = rows.select_related(
        "build__graph__revision__mlmodel__namespace", "build__target", "build__record"
    ).defer("build__record__document", "build__record__envelope")
    return [row.build for row in rows.order_by("ratio", "pk")[:limit]]


def _require_accuracy(builds: Collection[Build]) -> None:
    """Refuse a least accuracy of a network whose builds were measured without labels."""
    if builds and all(build.accuracy is None for build in builds):
        raise Invalid(
            "accuracy_not_measured",
            "The accuracy of this model is not measured, so `min_accuracy` cannot be met.",
            "State a tolerance, or publish samples with labels.",
            fields={"min_accuracy": "needs labelled samples"},
        )


def _live() -> QuerySet[Build]:
    return Build.objects.filter(withdrawn_at=None)


def _best_rows(rows: QuerySet[Build], tolerance: str) -> list[Build]:
    """The best build within ``tolerance`` of each network and target, in the order of ``rows``."""
    builds = {build.pk: build for build in rows}
    networks = _by_network(builds.values()).values()
    return [builds[best.key] for facts in networks if (best := best_of(facts, tolerance))]


def _by_network(builds: Iterable[Build]) -> dict[tuple[int, int, str], list[BuildFacts]]:
    """Facts of builds by key of their graph, key of their target and scenario."""
    builds = list(builds)
    networks: dict[tuple[int, int, str], list[BuildFacts]] = {}
    for build, facts in zip(builds, facts_of(builds), strict=True):
        networks.setdefault((build.graph_id, build.target_id, build.scenario), []).append(facts)
    return networks


def facts_of(builds: Sequence[Build]) -> list[BuildFacts]:
    """What the rule of the best build depends on, of each build, in order; in one query."""
    standing = standings(builds)
    return [
        BuildFacts(
            key=build.pk,
            tolerance=build.tolerance,
            ratio=build.ratio,
            verdict=build.verdict,
            is_baseline=build.is_baseline,
            reproduction=standing[build.pk][0],
            is_trusted=standing[build.pk][1],
            runtime=build.runtime,
            backend=build.candidate["backend"],
            relative_error=build.relative_error,
            accuracy=build.accuracy,
            scenario=build.scenario,
        )
        for build in builds
    ]


def _target_facts(target: Target) -> TargetFacts:
    features = frozenset(target.features)
    return TargetFacts(target.slug, target.architecture, features, target.rank)
