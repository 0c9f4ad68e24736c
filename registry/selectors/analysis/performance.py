"""Performance of a build: its profile as groups of nodes with their shares of a run."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from registry.kernels.networkwork import CallWork, NetworkWork, call_works
from registry.kernels.reason import is_changed, is_conversion
from registry.selectors.results.profile import RECONCILED, Coverage, coverage
from registry.tables import Build, CallSite, Graph, Profile

#: A call that takes more than this part of the run it belongs to is no measurement.
_MOST_OF_RUN = 1.5
#: A call that takes longer has no time, but a mark of a failure, such as the 1e10 s of TVM.
_SENTINEL_NS = 10**13
#: Grades of links, weakest first.
_GRADES = ("inferred", "shared", "exact")
TUNED = "tuned"


@dataclass(frozen=True, slots=True)
class Group:
    """A call site: the nodes that one call of a build computes.

    Attributes:
        share: Of the time of a run, 0 to 1; 0 for implausible times.
        is_plausible: Whether the time can be that of a part of the run.
        nodes: Positions in ``graph.node`` of the ONNX file, ascending.
        grade: The weakest grade of its links to nodes; "" without nodes.
        workload: Key of the operator workload; "" if the compiler has none.
        work: Operations and bytes of its nodes; ``None`` if the nodes of the network are not known.
        marks: ``tuned``, ``untuned``, ``conversion``, and an executed precision that is not the
            network's.
    """

    site: CallSite
    share: float
    spread: float
    is_plausible: bool
    nodes: tuple[int, ...]
    grade: str
    workload: str
    work: CallWork | None
    marks: tuple[str, ...]

    @property
    def sequence(self) -> int:
        return self.site.sequence

    @property
    def rate(self) -> float | None:
        """Operations per second; ``None`` without known operations or a time."""
        flops, time_ns = self.work.flops if self.work else None, self.site.median_ns
        return flops / time_ns * 1e9 if flops and self.is_plausible and time_ns > 0 else None


@dataclass(frozen=True, slots=True)
class Performance:
    """A profile, with the sum of its calls compared with the whole run.

    Attributes:
        groups: In the order of execution.
        whole_ns: The time that shares refer to: the run, or the sum of the calls if that is longer.
        sum_ns: Of the plausible calls.
        attributed_ns: Of these, calls that are linked to nodes.
        precisions: Executed precision, "" if unknown, to nanoseconds, longest first.
        network: Work of the network's nodes; ``None`` if they are not known.
    """

    build: Build
    profile: Profile
    groups: Sequence[Group]
    whole_ns: int
    sum_ns: int
    attributed_ns: int
    precisions: dict[str, int]
    coverage: Coverage
    model_precision: str
    network: NetworkWork | None = None
    sentinels: Sequence[Group] = field(default_factory=tuple)

    @property
    def nodes(self) -> int | None:
        """Number of nodes of the network; ``None`` if it is not known."""
        return None if self.network is None else len(self.network)

    @property
    def gap_ns(self) -> int:
        """Time between the calls; negative if the calls take longer than the run."""
        return self.profile.total_ns - self.sum_ns

    @property
    def is_reconciled(self) -> bool:
        """Whether the sum of the calls is close to the run."""
        return abs(self.gap_ns) <= RECONCILED * max(self.profile.total_ns, 1)

    @property
    def unattributed_ns(self) -> int:
        return self.sum_ns - self.attributed_ns

    @property
    def between_ns(self) -> float:
        """Time between two calls, on average."""
        return max(self.gap_ns, 0) / max(len(self.groups), 1)

    @property
    def tuned_share(self) -> float:
        """Share of the calls' time in kernels with a searched schedule."""
        return self._share_of("tuned")

    @property
    def conversion_share(self) -> float:
        """Share of the calls' time in calls that only change layouts or types."""
        return self._share_of("conversion")

    @property
    def has_kernels(self) -> bool:
        """Whether the runtime's compiler has workloads, so that schedules can be searched."""
        return any(group.workload for group in self.groups)

    def label(self, group: Group) -> str:
        """``Conv + Relu`` by the nodes of a group, else the runtime's name of the operator."""
        return (self.network.label(group.nodes) if self.network else "") or group.site.operator

    def hottest(self, count: int) -> list[Group]:
        """The groups that take longest."""
        return sorted(self.groups, key=lambda one: (-one.share, one.sequence))[:count]

    def group(self, sequence: int) -> Group | None:
        """The group of that call; ``None`` if there is none."""
        return next((one for one in self.groups if one.sequence == sequence), None)

    def _share_of(self, mark: str) -> float:
        marked = sum(one.site.median_ns for one in self.groups if mark in one.marks)
        return marked / self.sum_ns if self.sum_ns > 0 else 0.0


def performance_of(
    build: Build, profile: Profile, network: NetworkWork | None = None
) -> Performance:
    """The profile of a build as groups.

    Args:
        network: Work of the nodes of its network; ``None`` if they are not known, or the reader
            may not fetch the files.
    """
    sites = list(profile.call_sites.select_related("kernel").order_by("sequence"))
    precision = model_precision_of(build.graph)
    groups = groups_in(sites, profile.total_ns, precision, network)
    sum_ns = sum(group.site.median_ns for group in groups if group.is_plausible)
    spent: dict[str, int] = {}
    for group in groups:
        if group.is_plausible:
            name = group.site.precision
            spent[name] = spent.get(name, 0) + group.site.median_ns
    return Performance(
        build=build,
        profile=profile,
        groups=groups,
        whole_ns=_whole_ns(profile.total_ns, sum_ns),
        sum_ns=sum_ns,
        attributed_ns=sum(one.site.median_ns for one in groups if one.nodes and one.is_plausible),
        precisions=dict(sorted(spent.items(), key=lambda item: -item[1])),
        coverage=coverage(profile, sites),
        model_precision=precision,
        network=network,
        sentinels=[one for one in groups if not one.is_plausible],
    )


def groups_in(
    sites: Sequence[CallSite],
    total_ns: int,
    model_precision: str,
    network: NetworkWork | None = None,
) -> list[Group]:
    """Call sites of a run of ``total_ns`` as groups."""
    total = max(total_ns, 0)
    timed = [site for site in sites if is_plausible(site, total)]
    whole = _whole_ns(total, sum(site.median_ns for site in timed))
    works: dict[int, CallWork] = {}
    if network is not None:
        calls = zip(timed, call_works(timed, network, model_precision), strict=True)
        works = {site.sequence: work for site, work in calls}
    fits = {site.sequence for site in timed}
    return [
        _group(site, whole, model_precision, works.get(site.sequence), fits=site.sequence in fits)
        for site in sites
    ]


def is_plausible(site: CallSite, total_ns: int) -> bool:
    """Whether a call's time can be part of a run: not negative, not a sentinel such as 1e10 s."""
    if not 0 <= site.median_ns < _SENTINEL_NS or site.mad_ns < 0:
        return False
    return total_ns <= 0 or site.median_ns <= _MOST_OF_RUN * total_ns


def model_precision_of(graph: Graph) -> str:
    """Element type of the network's floating-point inputs, else of its outputs; "" if none."""
    signature: dict[str, Any] = graph.signature
    for side in ("inputs", "outputs"):
        for tensor in signature.get(side, ()):
            if "float" in str(tensor.get("dtype", "")):
                return str(tensor["dtype"])
    return ""


def _whole_ns(total_ns: int, sum_ns: int) -> int:
    return max(total_ns, sum_ns, 1)


def _group(
    site: CallSite, whole_ns: int, model_precision: str, work: CallWork | None, *, fits: bool
) -> Group:
    grades = [node["grade"] for node in site.nodes]
    kernel = site.kernel
    workload = kernel.workload if kernel is not None else ""
    marks = []
    if site.implementation == TUNED:
        marks.append("tuned")
    elif workload:
        marks.append("untuned")
    if is_conversion(site.operator):
        marks.append("conversion")
    if is_changed(site.precision, model_precision):
        marks.append(site.precision)
    return Group(
        site=site,
        share=site.median_ns / whole_ns if fits else 0.0,
        spread=site.mad_ns / whole_ns if fits else 0.0,
        is_plausible=fits,
        nodes=tuple(sorted({node["index"] for node in site.nodes})),
        grade=min(grades, key=_GRADES.index) if grades else "",
        workload=workload,
        work=work,
        marks=tuple(marks),
    )
