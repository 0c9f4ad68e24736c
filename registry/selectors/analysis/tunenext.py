"""What to tune next on a target: groups by the share of a run that a better kernel would save."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db.models import F

from registry.kernels.networkwork import NetworkWork
from registry.selectors.access import Actor, readable_mlmodels
from registry.selectors.analysis.networkwork import work_of
from registry.selectors.analysis.performance import Group, performance_of
from registry.selectors.analysis.profiledbuild import default_build, profiled_builds
from registry.selectors.analysis.roof import Roofs, roofs_for
from registry.selectors.analysis.roofline import roofline_in
from registry.selectors.analysis.workloadpeer import best_confirmed
from registry.selectors.repository.gate import may_fetch
from registry.selectors.results.graph import graph_of
from registry.states import RefKind
from registry.tables import Build, Kernel, MLModel, Ref, Revision, Target

#: What the headroom rests on: a confirmed schedule of the same workload, or the measured roof.
Basis = Literal["confirmed", "roof", "unknown"]
#: Models whose profiles are read, the most recently changed first; the page says so.
MOST_MODELS = 60
#: Groups of a model that are considered: the rest takes little time.
_HOTTEST = 8
#: Shares below this are not worth a search.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Opportunity:
    """A kernel of a model that could be faster.

    Attributes:
        share: Of a run, over all calls of the kernel.
        headroom: Part of its time that would be saved; ``None`` if that is not known. By the roof
            it is an upper bound.
        gain: ``share`` times ``headroom``.
        is_schedulable: Whether the hub can search schedules for it.
    """

    mlmodel: MLModel
    revision: Revision
    build: Build
    group: Group
    label: str
    calls: int
    share: float
    headroom: float | None
    basis: Basis

    @property
    def gain(self) -> float | None:
        return None if self.headroom is None else self.share * self.headroom

    @property
    def is_schedulable(self) -> bool:
        return bool(self.group.workload)


@dataclass(frozen=True, slots=True)
class TuneNext:
    """Opportunities, most gain first; those without a known headroom last, by share.

    Attributes:
        models: Number of models whose profiles were read, of ``all_models`` that were tuned.
    """

    opportunities: Sequence[Opportunity]
    models: int
    all_models: int


def profiled_targets(actor: Actor) -> list[Target]:
    """Targets with profiles of readable models, by slug."""
    builds = Build.objects.filter(
        withdrawn_at=None,
        profile__isnull=False,
        graph__revision__mlmodel__in=readable_mlmodels(actor),
    )
    return list(Target.objects.filter(pk__in=builds.values("target")).order_by("slug"))


def tune_next(actor: Actor, target: Target) -> TuneNext:
    """Kernels of readable models, at the heads of their default branches, worth a search."""
    heads = Ref.objects.filter(
        kind=RefKind.BRANCH,
        name=F("mlmodel__default_branch"),
        mlmodel__in=readable_mlmodels(actor),
        revision__graphs__builds__target=target,
        revision__graphs__builds__withdrawn_at=None,
        revision__graphs__builds__profile__isnull=False,
    ).distinct()
    rows = heads.select_related("revision__mlmodel__namespace").order_by("-mlmodel__updated_at")
    opportunities = [
        one for head in rows[:MOST_MODELS] for one in _of_revision(actor, head.revision, target)
    ]
    opportunities.sort(
        key=lambda one: (one.gain is None, -(one.share if one.gain is None else one.gain))
    )
    count = rows.count()
    return TuneNext(opportunities, min(count, MOST_MODELS), count)


def _of_revision(actor: Actor, revision: Revision, target: Target) -> Iterator[Opportunity]:
    graph = graph_of(revision)
    builds = profiled_builds(graph) if graph is not None else []
    best = default_build(builds, target.slug)
    if best is None or graph is None:
        return
    network = work_of(graph) if may_fetch(actor, revision.mlmodel) else None
    yield from _of_build(actor, best, network)
    # A compiler whose schedules can be searched may win once they are.
    on_target = [build for build in builds if build.target_id == target.pk and build != best]
    for build in on_target:
        if Kernel.objects.filter(profile=build.profile).exclude(workload="").exists():
            yield from _of_build(actor, build, network)
            return


def _of_build(actor: Actor, build: Build, network: NetworkWork | None) -> Iterator[Opportunity]:
    performance = performance_of(build, build.profile, network)
    revision, roofs = build.graph.revision, roofs_for(build)
    seen: set[str] = set()
    for group in performance.hottest(_HOTTEST):
        # Calls of one workload are tuned at once.
        key = group.workload or f"call {group.sequence}"
        if key in seen:
            continue
        seen.add(key)
        same = [one for one in performance.groups if group.workload and one.workload == key]
        calls = same or [group]
        share = sum(one.share for one in calls)
        if share < _LEAST_SHARE:
            continue
        headroom, basis = _headroom(actor, build, group, roofs)
        yield Opportunity(
            mlmodel=revision.mlmodel,
            revision=revision,
            build=build,
            group=group,
            label=performance.label(group),
            calls=len(calls),
            share=share,
            headroom=headroom,
            basis=basis,
        )


def _headroom(
    actor: Actor, build: Build, group: Group, roofs: Roofs | None
) -> tuple[float | None, Basis]:
    """The headroom of a group, and its basis."""
    time_ns = group.site.median_ns
    if group.workload and time_ns > 0:
        best = best_confirmed(actor, group.workload, build.target)
        if best is not None and best < time_ns:
            return 1 - best / time_ns, "confirmed"
    roofline = roofline_in(group, roofs)
    if roofline is None:
        return None, "unknown"
    return max(1 - roofline.of_roof, 0.0), "roof"
