"""The calls of a build under the measured roofs of its device.

Model: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52(4), 2009. Only main memory is a roof of
traffic; calls whose data stay in a cache may lie above it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from registry.errors import NotFound
from registry.kernels.networkwork import CallWork
from registry.kernels.roofline import Roofline, roofline_of
from registry.selectors.access import Actor
from registry.selectors.analysis.networkwork import work_get
from registry.selectors.analysis.performance import Group, Performance, performance_of
from registry.selectors.analysis.roof import Roofs, roofs_for
from registry.selectors.repository.gate import may_fetch
from registry.tables import Build, CallSite, Profile


@dataclass(frozen=True, slots=True)
class RooflineCall:
    """A call of a build, its work, and the roofs above it.

    Attributes:
        share: Of the sum over all calls, 0 to 1.
        work: With the precision whose roof applies.
        roofline: ``None`` if the work, the time or a roof is unknown.
    """

    site: CallSite
    share: float
    work: CallWork
    roofline: Roofline | None

    @property
    def intensity(self) -> float | None:
        """Operations per byte; ``None`` without operations."""
        return self.work.intensity

    @property
    def rate(self) -> float | None:
        """Operations per second; ``None`` without operations, or for a time of zero."""
        flops, time_ns = self.work.flops, self.site.median_ns
        return flops / time_ns * 1e9 if flops and time_ns else None

    @property
    def of_roof(self) -> float | None:
        """Share of the attainable speed; above 1 for a call above the roof."""
        return self.roofline.of_roof if self.roofline else None

    @property
    def is_memory_bound(self) -> bool | None:
        """Whether traffic, not arithmetic, is the limit; ``None`` if unknown."""
        return self.roofline.is_memory_bound if self.roofline else None

    @property
    def saving_ns(self) -> float:
        """Time that reaching the roof would save; none for calls at or above it."""
        return max(self.site.median_ns - self.roofline.least_ns, 0.0) if self.roofline else 0.0


@dataclass(frozen=True, slots=True)
class RooflineView:
    """The roofline of a build; without ``calls`` the ``refusal`` says why."""

    refusal: str = ""
    roofs: Roofs | None = None
    profile: Profile | None = None
    calls: list[RooflineCall] = field(default_factory=list)

    @property
    def sum_ns(self) -> float:
        return float(sum(call.site.median_ns for call in self.calls))

    @property
    def saving_ns(self) -> float:
        """Time that reaching the roof in every call of known work would save."""
        return sum(call.saving_ns for call in self.calls)

    @property
    def unknown_share(self) -> float:
        """Share of the time of calls whose work or roof is unknown."""
        return sum(call.share for call in self.calls if call.roofline is None)

    @property
    def above(self) -> int:
        """Number of calls above the roof."""
        return sum((call.of_roof or 0.0) > 1 for call in self.calls)


def roofline_of_build(
    actor: Actor, build: Build, performance: Performance | None = None
) -> RooflineView:
    """The roofline of a readable build. The topology is a part of the model's files: a build of a
    gated model has a roofline only for those who may fetch them.

    Args:
        performance: That of the build, if the caller has read it for ``actor``.
    """
    profile = performance.profile if performance else Profile.objects.filter(build=build).first()
    if profile is None:
        return RooflineView("It has no profile. The best builds of a search are profiled.")
    roofs = roofs_for(build)
    if roofs is None:
        text = (
            f"No device of {build.target.slug} has measured its roofs yet. It does in its next "
            "search or reproduction."
        )
        return RooflineView(text, profile=profile)
    if not may_fetch(actor, build.graph.revision.mlmodel):
        return RooflineView("The files of this model are restricted.", roofs, profile)
    try:
        network = work_get(build.graph)
    except NotFound as error:
        return RooflineView(error.detail, roofs, profile)
    performance = performance or performance_of(build, profile, network)
    if performance.sentinels:
        return RooflineView("Its profile holds times that no call can take.", roofs, profile)
    return RooflineView("", roofs, profile, calls_under(performance.groups, roofs))


def calls_under(groups: Sequence[Group], roofs: Roofs) -> list[RooflineCall]:
    """The calls of a profile whose nodes are known, under the roofs of a device."""
    total = sum(group.site.median_ns for group in groups) or 1
    return [
        RooflineCall(
            group.site, group.site.median_ns / total, group.work, roofline_in(group, roofs)
        )
        for group in groups
        if group.work is not None
    ]


def roofline_in(group: Group, roofs: Roofs | None) -> Roofline | None:
    """A group under the roofs of a device; ``None`` if its work, its time or a roof is unknown."""
    if group.work is None or roofs is None:
        return None
    return roofline_of(
        flops=group.work.flops,
        traffic=group.work.traffic,
        time_ns=group.site.median_ns,
        peak=roofs.peak(group.work.precision),
        bandwidth=roofs.bandwidth,
    )
