"""What changed between two revisions of a model: speed on each target, nodes, groups of nodes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from registry.errors import NotFound
from registry.selectors.analysis.graphdiff import GraphDifference, graph_difference
from registry.selectors.analysis.groupdelta import GroupDelta, group_deltas
from registry.selectors.analysis.topology import topology_document, topology_get
from registry.selectors.results.comparison import TargetComparison, comparisons_of
from registry.selectors.results.graph import graph_of
from registry.selectors.results.nodetime import group_times
from registry.tables import Build, Graph, Profile, Revision, Target

#: Positions of removed nodes are moved below those of all others and of calls without a link.
_REMOVED = -2


@dataclass(frozen=True, slots=True)
class Fact:
    """A property of both networks, as text; "" if it is unknown."""

    name: str
    before: str
    after: str

    @property
    def is_changed(self) -> bool:
        return self.before != self.after


@dataclass(frozen=True, slots=True)
class Speeds:
    """The builds of both revisions on one target: the defaults, and the fastest of each."""

    target: Target
    default_before: Build | None
    default_after: Build | None
    best_before: Build | None
    best_after: Build | None

    @property
    def ratio(self) -> float | None:
        """Latency of the fastest build after over that before."""
        if self.best_before is None or self.best_after is None or not self.best_before.p50_ns:
            return None
        return self.best_after.p50_ns / self.best_before.p50_ns

    @property
    def is_same_device(self) -> bool:
        """Whether one device measured the fastest builds of both."""
        builds = (self.best_before, self.best_after)
        devices = {build.record.device_id for build in builds if build}
        return len(devices) == 1


@dataclass(frozen=True, slots=True)
class TargetGroups:
    """Groups of nodes on one target, in a build of each revision, largest difference first.

    Positions are those of the later network. ``removed`` are positions in the earlier one, by
    group.
    """

    before: Build
    after: Build
    groups: list[GroupDelta]
    removed: list[tuple[int, ...]]

    @property
    def is_like(self) -> bool:
        """Whether both builds have the same backend and tolerance class."""
        pairs = {
            (build.candidate["backend"], build.tolerance) for build in (self.before, self.after)
        }
        return len(pairs) == 1


@dataclass(frozen=True, slots=True)
class RevisionDifference:
    """What changed between two revisions.

    Attributes:
        refusal: Why the networks cannot be compared; "" if they can.
        nodes: ``None`` without topologies; ``nodes_refusal`` then says why.
        has_same_structure: Whether the graph hashes are equal: only names or weights differ.
    """

    refusal: str = ""
    facts: list[Fact] = field(default_factory=list)
    speeds: list[Speeds] = field(default_factory=list)
    nodes: GraphDifference | None = None
    nodes_refusal: str = ""
    groups: list[TargetGroups] = field(default_factory=list)
    has_same_structure: bool = False


def revision_difference(
    before: Revision, after: Revision, *, may_read_nodes: bool
) -> RevisionDifference:
    """Compare two revisions of a readable model.

    Args:
        may_read_nodes: Whether the actor may fetch its files, which topologies are a part of.
    """
    one, other = graph_of(before), graph_of(after)
    if one is None or other is None:
        which = "earlier" if one is None else "later"
        return RevisionDifference(f"The {which} revision has no inspected network.")
    comparisons = comparisons_of(one), comparisons_of(other)
    nodes, refusal = _nodes(one, other) if may_read_nodes else (None, "The files are restricted.")
    speeds = list(_speeds(*comparisons))
    return RevisionDifference(
        facts=_facts(one, other),
        speeds=speeds,
        nodes=nodes,
        nodes_refusal=refusal,
        groups=_groups(comparisons, nodes) if nodes else [],
        has_same_structure=one.graph_hash == other.graph_hash,
    )


def _facts(one: Graph, other: Graph) -> list[Fact]:
    def texts(graph: Graph) -> dict[str, str]:
        def tensors(side: str) -> str:
            return ", ".join(
                f"{each['name']} {each['dtype']}[{','.join(map(str, each['shape']))}]"
                for each in graph.signature[side]
            )

        return {
            "inputs": tensors("inputs"),
            "outputs": tensors("outputs"),
            "parameters": f"{graph.parameters:,}",
            "MACs": "" if graph.macs is None else f"{graph.macs:,}",
            "nodes": f"{sum(graph.operators.values()):,}",
            "class": graph.architecture_class,
            "structure": graph.graph_hash[:12],
        }

    before, after = texts(one), texts(other)
    facts = [Fact(name, before[name], after[name]) for name in before]
    names = sorted({*one.operators, *other.operators})
    counts = [
        Fact(name, str(one.operators.get(name, 0)), str(other.operators.get(name, 0)))
        for name in names
    ]
    return [*facts, *(fact for fact in counts if fact.is_changed)]


def _speeds(before: list[TargetComparison], after: list[TargetComparison]) -> list[Speeds]:
    old = {one.target: one for one in before}
    new = {one.target: one for one in after}
    targets = sorted({*old, *new}, key=lambda target: target.slug)
    return [
        Speeds(
            target,
            old[target].default if target in old else None,
            new[target].default if target in new else None,
            _fastest(old.get(target)),
            _fastest(new.get(target)),
        )
        for target in targets
    ]


def _fastest(comparison: TargetComparison | None) -> Build | None:
    return comparison.builds[0] if comparison and comparison.builds else None


def _nodes(one: Graph, other: Graph) -> tuple[GraphDifference | None, str]:
    try:
        documents = [topology_document(topology_get(graph)) for graph in (one, other)]
    except NotFound as error:
        return None, error.detail
    if any("nodes" in document["omitted"] for document in documents):
        return None, "A network has too many nodes to be compared one by one."
    return graph_difference(*documents), ""


def _groups(
    comparisons: tuple[list[TargetComparison], list[TargetComparison]], nodes: GraphDifference
) -> list[TargetGroups]:
    old = {each.target: each for each in comparisons[0]}
    profiles = {
        profile.build_id: profile
        for profile in Profile.objects.filter(
            build__in=[build.pk for side in comparisons for each in side for build in each.builds]
        )
    }
    shown = []
    for comparison in comparisons[1]:
        earlier = old.get(comparison.target)
        pair = _pair(earlier.builds, comparison.builds, profiles) if earlier else None
        if pair:
            shown.append(_target_groups(*pair, profiles, nodes))
    return shown


def _pair(
    before: Sequence[Build], after: Sequence[Build], profiles: Mapping[int, Profile]
) -> tuple[Build, Build] | None:
    """The fastest profiled build after, and its like before, else the fastest before."""
    old = [build for build in before if build.pk in profiles]
    new = [build for build in after if build.pk in profiles]
    if not old or not new:
        return None

    def kind(build: Build) -> tuple[str, str, bool]:
        return build.candidate["backend"], build.tolerance, build.is_baseline

    for build in new:
        for other in old:
            if kind(build) == kind(other):
                return other, build
    return old[0], new[0]


def _target_groups(
    before: Build, after: Build, profiles: Mapping[int, Profile], nodes: GraphDifference
) -> TargetGroups:
    sites = [list(profiles[build.pk].call_sites.order_by("sequence")) for build in (before, after)]
    for site in sites[0]:
        # Not saved: the positions of the later network, for this comparison.
        site.nodes = [_moved(link, nodes.matches) for link in site.nodes]
    groups = sorted(
        group_deltas(group_times(sites), sites), key=lambda one: (-one.spread_ns, one.group.nodes)
    )
    removed = [
        tuple(sorted(_REMOVED - at for at in one.group.nodes if at <= _REMOVED)) for one in groups
    ]
    return TargetGroups(before, after, groups, removed)


def _moved(link: dict[str, Any], matches: Mapping[int, int]) -> dict[str, Any]:
    index = link["index"]
    return {**link, "index": matches.get(index, _REMOVED - index)}
