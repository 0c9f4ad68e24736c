"""The same nodes of a network in the other builds of a target, fastest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from registry.selectors.analysis.performance import is_plausible
from registry.selectors.results.nodetime import groups_of
from registry.tables import Build, CallSite


@dataclass(frozen=True, slots=True)
class BuildPeer:
    """What a build spends on a group of nodes.

    Attributes:
        time_ns, spread_ns: Sum over the calls that compute the nodes, and of their spreads;
            ``None`` if the build computes none of them in a call.
        precisions: Executed in these calls, without unknown ones.
        sequences: Its calls, in the order of execution.
        is_whole: Whether its calls compute exactly these nodes.
    """

    build: Build
    time_ns: int | None
    spread_ns: int
    precisions: tuple[str, ...]
    sequences: tuple[int, ...]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class BuildComparison:
    """Builds compared over nodes that no call of any of them divides; fastest first."""

    nodes: tuple[int, ...]
    peers: Sequence[BuildPeer]

    @property
    def is_one_precision(self) -> bool:
        """Whether all builds are known to compute in the same precision."""
        precisions = {one.precisions for one in self.peers if one.time_ns is not None}
        return len(precisions) == 1 and len(next(iter(precisions))) == 1


def build_comparison(builds: Sequence[Build], nodes: Sequence[int]) -> BuildComparison | None:
    """Compare profiled builds of one network over some nodes.

    If another build computes the nodes together with further ones, these are included, because the
    time of a call cannot be divided. ``None`` without nodes.
    """
    if not nodes:
        return None
    sites = {build.pk: _sites(build) for build in builds}
    roots = groups_of(
        [node["index"] for node in site.nodes] for own in sites.values() for site in own
    )
    roots_of_nodes = {roots[node] for node in nodes if node in roots}
    members = tuple(node for node, root in sorted(roots.items()) if root in roots_of_nodes)
    peers = [_peer(build, sites[build.pk], frozenset(members)) for build in builds]
    peers.sort(key=lambda one: (one.time_ns is None, one.time_ns or 0))
    return BuildComparison(members, peers)


def _sites(build: Build) -> list[CallSite]:
    total = build.profile.total_ns
    rows = build.profile.call_sites.order_by("sequence")
    return [site for site in rows if is_plausible(site, total)]


def _peer(build: Build, sites: Sequence[CallSite], nodes: frozenset[int]) -> BuildPeer:
    own = [site for site in sites if any(node["index"] in nodes for node in site.nodes)]
    computed = {node["index"] for site in own for node in site.nodes}
    return BuildPeer(
        build=build,
        time_ns=sum(site.median_ns for site in own) if own else None,
        spread_ns=sum(site.mad_ns for site in own),
        precisions=tuple(sorted({site.precision for site in own if site.precision})),
        sequences=tuple(site.sequence for site in own),
        is_whole=computed == nodes,
    )
