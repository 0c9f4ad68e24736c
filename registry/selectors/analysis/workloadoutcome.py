"""What a search of a workload came to: the best time, beside others, and how it ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from registry.selectors.access import Actor, readable_builds
from registry.selectors.analysis.workloadsearch import SearchTrial, WorkloadSearch, per_search
from registry.statistics.progress import Plateau, plateau
from registry.tables import Build, CallSite, ScheduleTask

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
            label = _label(site.profile.build, site.precision)
            times.setdefault(f"{label}, untuned", []).append(site.median_ns / 1e9)
    nodes = {(site.profile.build.graph_id, _positions(site.nodes)) for site in own if site.nodes}
    graphs = {graph for graph, _ in nodes}
    profiles = {site.profile_id for site in own}
    others = {
        build.profile.pk: build
        for build in builds.filter(graph__in=graphs, profile__isnull=False)
        .exclude(profile__in=profiles)
        .select_related("profile")
        .defer("provenance")
    }
    # Profiles may have thousands of calls: columns, not rows of the table.
    columns = ("profile", "nodes", "median_ns", "precision")
    calls = CallSite.objects.filter(profile__in=others).values_list(*columns)
    for profile, links, median_ns, precision in calls.iterator():
        build = others[profile]
        if (build.graph_id, _positions(links)) in nodes:
            label = _label(build, precision)
            times.setdefault(label, []).append(median_ns / 1e9)
            is_exact = all(link["grade"] == "exact" for link in links)
            exact[label] = exact.get(label, True) and is_exact
    rivals = [
        RivalTime(label, median(values), len(values), exact.get(label, True))
        for label, values in times.items()
    ]
    return sorted(rivals, key=lambda rival: rival.time_s)


def _positions(links: Sequence[Mapping[str, Any]]) -> tuple[int, ...]:
    return tuple(sorted(link["index"] for link in links))


def _label(build: Build, precision: str) -> str:
    suffix = f", {precision}" if precision not in {"", "f32", "float32"} else ""
    return f"{build.candidate['backend']}{suffix}"
