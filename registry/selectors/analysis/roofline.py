"""The calls of a build under the measured roofs of its device.

Model: Williams, Waterman and Patterson, "Roofline: an insightful visual performance model for
multicore architectures", Communications of the ACM 52(4), 2009. Only main memory is a roof of
traffic; calls whose data stay in a cache may lie above it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from registry.errors import NotFound
from registry.selectors.access import Actor
from registry.selectors.analysis.networkwork import NetworkWork
from registry.selectors.analysis.roof import Roofs, roofs_for
from registry.selectors.analysis.topology import topology_document, topology_get
from registry.selectors.repository.gate import may_fetch
from registry.tables import Build, CallSite, Profile

_DEFAULT_PRECISION = "float32"
#: Time of a call beyond which a profile holds no time but a mark of a failure.
_SENTINEL_NS = 10**13


@dataclass(frozen=True, slots=True)
class RooflineCall:
    """A call of a build, its work, and the least time that the roofs permit.

    Attributes:
        share: Of the sum over all calls, 0 to 1.
        precision: That whose roof applies; ``is_assumed`` if the runtime did not report it.
        flops, traffic: Operations and bytes; ``None`` if unknown.
        least_ns: Time at the roof; ``None`` if the work or a roof is unknown.
    """

    site: CallSite
    share: float
    precision: str
    is_assumed: bool
    flops: float | None
    traffic: float | None
    least_ns: float | None

    @property
    def intensity(self) -> float | None:
        """Operations per byte; ``None`` without operations."""
        return self.flops / self.traffic if self.flops and self.traffic else None

    @property
    def rate(self) -> float | None:
        """Operations per second; ``None`` without operations, or for a time of zero."""
        time_ns = self.site.median_ns
        return self.flops / time_ns * 1e9 if self.flops and time_ns else None

    @property
    def of_roof(self) -> float | None:
        """Share of the attainable speed; above 1 for a call above the roof."""
        time_ns = self.site.median_ns
        return self.least_ns / time_ns if self.least_ns is not None and time_ns else None

    @property
    def saving_ns(self) -> float:
        """Time that reaching the roof would save; none for calls at or above it."""
        return max(self.site.median_ns - self.least_ns, 0.0) if self.least_ns is not None else 0.0


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
        return sum(call.share for call in self.calls if call.least_ns is None)

    @property
    def above(self) -> int:
        """Number of calls above the roof."""
        return sum((call.of_roof or 0.0) > 1 for call in self.calls)

    def is_memory_bound(self, call: RooflineCall) -> bool | None:
        """Whether traffic, not arithmetic, is the limit of a call; ``None`` if unknown."""
        ridge = self.roofs.ridge(call.precision) if self.roofs else None
        if call.traffic is None or call.flops is None or ridge is None:
            return None
        return call.flops < ridge * call.traffic


def roofline_of_build(actor: Actor, build: Build) -> RooflineView:
    """The roofline of a readable build. The topology is a part of the model's files: a build of a
    gated model has a roofline only for those who may fetch them."""
    profile = Profile.objects.filter(build=build).first()
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
        work = NetworkWork(topology_document(topology_get(build.graph)))
    except NotFound as error:
        return RooflineView(error.detail, roofs, profile)
    sites = list(profile.call_sites.order_by("sequence"))
    if any(not 0 <= site.median_ns < _SENTINEL_NS for site in sites):
        return RooflineView("Its profile holds times that no call can take.", roofs, profile)
    return RooflineView("", roofs, profile, calls_under(sites, work, roofs))


def calls_under(sites: Sequence[CallSite], work: NetworkWork, roofs: Roofs) -> list[RooflineCall]:
    """The calls with their work; a node of several calls is the work of the longest of them."""
    owners: dict[int, CallSite] = {}
    for site in sites:
        for node in site.nodes:
            owner = owners.get(node["index"])
            if owner is None or site.median_ns > owner.median_ns:
                owners[node["index"]] = site
    total = sum(site.median_ns for site in sites) or 1
    calls = []
    for site in sites:
        own = [node["index"] for node in site.nodes if owners[node["index"]] is site]
        reported = next((name for name in roofs.compute if name in site.precision.split(", ")), "")
        precision = reported or _DEFAULT_PRECISION
        flops, traffic = work.flops(own), work.traffic(own, precision)
        calls.append(
            RooflineCall(
                site=site,
                share=site.median_ns / total,
                precision=precision,
                is_assumed=not reported,
                flops=flops,
                traffic=traffic,
                least_ns=_least_ns(flops, traffic, roofs, precision),
            )
        )
    return calls


def _least_ns(
    flops: float | None, traffic: float | None, roofs: Roofs, precision: str
) -> float | None:
    peak, bandwidth = roofs.peak(precision), roofs.bandwidth
    if flops is None or traffic is None or not peak or not bandwidth:
        return None
    return max(flops / peak, traffic / bandwidth) * 1e9
