"""What a search of a workload came to: the best time, beside others, and how it ended."""

from dataclasses import dataclass
from statistics import median

from registry.selectors.access import Actor, readable_builds
from registry.selectors.analysis.workloadsearch import SearchTrial, WorkloadSearch, per_search
from registry.statistics.progress import Plateau, plateau
from registry.tables import CallSite, ScheduleTask

#: Call sites of a workload that are compared with other backends.
_MOST_SITES = 200


@dataclass(frozen=True, slots=True)
class RivalTime:
    """Time that other code takes for the same nodes of a network.

    Attributes:
        label: What runs them: ``tvm, untuned``, ``onnxruntime``.
        time_s: Median over the call sites, of one call.
        sites: Number of call sites.
        is_exact: Whether they are for the same nodes exactly, without inference.
    """

    label: str
    time_s: float
    sites: int
    is_exact: bool


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """The end of a search.

    Attributes:
        best: The confirmed trial, or the fastest measured one.
        best_s: Its confirmed time, else its measured one.
        first_s: Time of the first measured trial.
        duration_s: Seconds of building and timing.
        end: Whether it was still improving.
    """

    best: SearchTrial | None
    best_s: float | None
    first_s: float | None
    duration_s: float
    end: Plateau


@per_search
def outcome_of(search: WorkloadSearch) -> SearchOutcome:
    """The end of a search."""
    best = search.best
    best_s = None
    if best is not None:
        best_s = best.confirmed_s if best.confirmed_at is not None else best.time_s
    first = next((trial.time_s for trial in search.trials if trial.is_measured), None)
    times = [trial.time_s for trial in search.trials]
    duration = sum(trial.duration_s for trial in search.trials)
    return SearchOutcome(best, best_s, first, duration, plateau(times))


def rivals_of(actor: Actor, task: ScheduleTask) -> list[RivalTime]:
    """Times of other code for the nodes that a workload computes, from profiles of readable builds
    on its target, fastest first.

    Untuned code of the same compiler is found by the workload's key. Code of other backends is
    found by the nodes of the same graph; groups that are not exactly equal are left out.
    """
    builds = readable_builds(actor).filter(target=task.target, withdrawn_at=None)
    sites = CallSite.objects.filter(profile__build__in=builds)
    own = list(
        sites.filter(kernel__workload=task.key)
        .select_related("kernel", "profile__build__graph")
        .order_by("-id")[:_MOST_SITES]
    )
    times: dict[str, list[float]] = {}
    exact: dict[str, bool] = {}
    for site in own:
        if site.kernel is not None and site.kernel.schedule is None:
            times.setdefault(f"{_backend(site)}, untuned", []).append(site.median_ns / 1e9)
    nodes = {(site.profile.build.graph_id, _nodes(site)) for site in own if site.nodes}
    graphs = {graph for graph, _ in nodes}
    profiles = {site.profile_id for site in own}
    others = sites.filter(profile__build__graph__in=graphs).exclude(profile__in=profiles)
    for site in others.select_related("profile__build").iterator():
        if (site.profile.build.graph_id, _nodes(site)) in nodes:
            label = _backend(site)
            times.setdefault(label, []).append(site.median_ns / 1e9)
            is_exact = all(node["grade"] == "exact" for node in site.nodes)
            exact[label] = exact.get(label, True) and is_exact
    rivals = [
        RivalTime(label, median(values), len(values), exact.get(label, True))
        for label, values in times.items()
    ]
    return sorted(rivals, key=lambda rival: rival.time_s)


def _nodes(site: CallSite) -> tuple[int, ...]:
    return tuple(sorted(node["index"] for node in site.nodes))


def _backend(site: CallSite) -> str:
    build = site.profile.build
    precision = f", {site.precision}" if site.precision not in {"", "f32", "float32"} else ""
    return f"{build.candidate['backend']}{precision}"
