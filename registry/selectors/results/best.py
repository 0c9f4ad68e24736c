"""Best builds: the rule of :mod:`registry.selectors.results.choice` applied to published builds."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from django.db.models import Q, QuerySet

from registry.selectors.access import Actor, readable_builds
from registry.selectors.results.build import with_relations
from registry.selectors.results.choice import (
    BuildFacts,
    LoadRequest,
    TargetFacts,
    best_of,
    best_of_each_class,
    choose,
)
from registry.selectors.results.graph import graph_of
from registry.selectors.results.reproduction import latest_outcomes
from registry.states import ToleranceClass
from registry.tables import Build, Revision, Target

_PAGE = 50


@dataclass(frozen=True, slots=True)
class BuildChoice:
    """The build a machine should load.

    Attributes:
        build: ``None`` to load the published network.
        reason: One or two sentences for people.
        others: Other builds that the machine could load, best first.
    """

    build: Build | None
    reason: str
    others: list[Build] = field(default_factory=list)


def best_build(revision: Revision, request: LoadRequest) -> BuildChoice:
    """The build of a revision's network that a machine should load."""
    graph = graph_of(revision)
    if graph is None:
        return BuildChoice(None, "This revision has no known network: it is not inspected yet.")
    rows = {row.pk: row for row in with_relations(_live().filter(graph=graph))}
    published: dict[TargetFacts, list[BuildFacts]] = {}
    for facts in _facts(list(rows.values())):
        published.setdefault(_target_facts(rows[facts.key].target), []).append(facts)
    selection = choose(published, request)
    best = rows[selection.best] if selection.best is not None else None
    return BuildChoice(best, selection.reason, [rows[key] for key in selection.others])


def best_builds(graphs: Collection[int]) -> set[int]:
    """Keys of the builds of these graphs (keys) that are the best of their class on their target.

    Such a build is loaded by a machine of its target whose user accepts the build's tolerance
    class.
    """
    best = set()
    rows = _live().filter(graph__in=graphs).defer("runtime_options", "deviation", "provenance")
    for builds in _by_network(rows).values():
        for tolerance, build in best_of_each_class(builds).items():
            if build.tolerance == tolerance:
                best.add(build.key)
    return best


def best_per_target(revision: Revision, *, tolerance: str = ToleranceClass.EXACT) -> list[Build]:
    """The best build within ``tolerance`` for each target, by target, with files."""
    rows = with_relations(_live().filter(graph__revision=revision))
    return _best_rows(rows.order_by("target__slug", "pk"), tolerance)


def best_ratios(
    revisions: Collection[Revision], *, tolerance: str = ToleranceClass.EXACT
) -> dict[int, dict[str, float]]:
    """Key of a revision to slug of a target to the ratio of its best build; 1 for the baseline."""
    rows = _live().filter(graph__revision__in=revisions, graph__is_primary=True)
    rows = rows.select_related("graph", "target").order_by("target__slug", "pk")
    ratios: dict[int, dict[str, float]] = {}
    for build in _best_rows(rows, tolerance):
        ratio = 1.0 if build.is_baseline else build.ratio
        ratios.setdefault(build.graph.revision_id, {})[build.target.slug] = ratio
    return ratios


def largest_gains(actor: Actor, *, target: Target | None = None, limit: int = 10) -> list[Build]:
    """The best float32-exact builds of all readable networks, by ratio; baselines left out."""
    rows = readable_builds(actor).filter(withdrawn_at=None, tolerance=ToleranceClass.EXACT)
    rows = rows.filter(is_baseline=False)
    if target is not None:
        rows = rows.filter(target=target)
    rows = rows.select_related("graph__revision__mlmodel__namespace", "target", "record")
    rows = rows.defer("record__document", "record__envelope").order_by("ratio", "pk")
    gains: list[Build] = []
    page = list(rows[:_PAGE])
    while page:
        best = best_builds({build.graph_id for build in page})
        gains += [build for build in page if build.pk in best]
        if len(gains) >= limit:
            break
        last = page[-1]
        # The plain bound lets databases begin in the middle of the index.
        after = Q(ratio__gt=last.ratio) | Q(ratio=last.ratio, pk__gt=last.pk)
        page = list(rows.filter(after, ratio__gte=last.ratio)[:_PAGE])
    return gains[:limit]


def _live() -> QuerySet[Build]:
    return Build.objects.filter(withdrawn_at=None)


def _best_rows(rows: QuerySet[Build], tolerance: str) -> list[Build]:
    """The best build within ``tolerance`` of each network and target, in the order of ``rows``."""
    builds = {build.pk: build for build in rows}
    networks = _by_network(builds.values()).values()
    return [builds[best.key] for facts in networks if (best := best_of(facts, tolerance))]


def _by_network(builds: Iterable[Build]) -> dict[tuple[int, int], list[BuildFacts]]:
    """Facts of builds by key of their graph and key of their target."""
    builds = list(builds)
    networks: dict[tuple[int, int], list[BuildFacts]] = {}
    for build, facts in zip(builds, _facts(builds), strict=True):
        networks.setdefault((build.graph_id, build.target_id), []).append(facts)
    return networks


def _facts(builds: Sequence[Build]) -> list[BuildFacts]:
    outcomes = latest_outcomes(builds)
    return [
        BuildFacts(
            key=build.pk,
            tolerance=build.tolerance,
            ratio=build.ratio,
            verdict=build.verdict,
            is_baseline=build.is_baseline,
            reproduction=outcomes.get(build.pk, ""),
            runtime=build.runtime,
            backend=build.candidate["backend"],
        )
        for build in builds
    ]


def _target_facts(target: Target) -> TargetFacts:
    features = frozenset(target.features)
    return TargetFacts(target.slug, target.architecture, features, target.rank)
