"""Times of builds by nodes of the network, although builds fuse nodes differently."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from registry.selectors.analysis.measuredbuild import MeasuredBuild
from registry.selectors.results.nodetime import NodeTime, node_times
from registry.tables import CallSite, Profile, Record

#: Time of a call beyond which a profile holds no time but a mark of a failure.
_SENTINEL_NS = 10**13
#: Stands for the node of calls without a link to one.
_UNLINKED = -1


@dataclass(frozen=True, slots=True)
class GroupDelta:
    """A group of nodes that no build divides, and its time in each build.

    Attributes:
        times_ns: In the order of the builds; 0 if a build computes nothing of it at run time.
        precisions: Executed precisions of each build there; "" where its runtime reports none.
        sequences: Call site of each build that takes longest there; ``None`` without one.
    """

    group: NodeTime
    precisions: tuple[str, ...]
    sequences: tuple[int | None, ...]

    @property
    def label(self) -> str:
        return self.group.label

    @property
    def times_ns(self) -> tuple[int, ...]:
        return self.group.times_ns

    @property
    def deltas_ns(self) -> tuple[int, ...]:
        """Difference of each build to the first."""
        return tuple(time - self.times_ns[0] for time in self.times_ns)

    @property
    def spread_ns(self) -> int:
        """Difference between the slowest and the fastest build."""
        return max(self.times_ns) - min(self.times_ns)

    @property
    def fastest(self) -> int:
        """Position of the build that is fastest in this group."""
        return self.times_ns.index(min(self.times_ns))

    @property
    def is_mixed(self) -> bool:
        """Whether builds computed it in different precisions, as far as those are reported."""
        return len({precision for precision in self.precisions if precision}) > 1


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups of nodes in several builds.

    Attributes:
        builds: Those with a profile, the first of which the others are compared with.
        groups: By what they decide, largest spread first.
        refusal: Why there is no table; "" if there is one.
        excluded: A sentence for each build that is left out.
    """

    builds: list[MeasuredBuild]
    groups: list[GroupDelta]
    refusal: str = ""
    excluded: tuple[str, ...] = ()

    @property
    def wins(self) -> list[int]:
        """Number of groups in which each build is the fastest."""
        fastest = [group.fastest for group in self.groups]
        return [fastest.count(column) for column in range(len(self.builds))]

    @property
    def mixed(self) -> int:
        """Number of groups that the builds computed in different precisions."""
        return sum(group.is_mixed for group in self.groups)

    @property
    def totals_ns(self) -> list[int]:
        """Sum over all groups of each build."""
        columns = range(len(self.builds))
        return [sum(group.times_ns[column] for group in self.groups) for column in columns]


def group_table(builds: Sequence[MeasuredBuild]) -> GroupTable:
    """The table of builds of one network file.

    Positions of nodes mean the same only in equal files, so builds of other files are refused.
    """
    if len(builds) < 2:
        return GroupTable([], [], "Choose at least two builds of one network.")
    if len(_files(builds)) > 1:
        return GroupTable(
            [],
            [],
            "These builds were made from different network files, whose nodes have no common "
            "numbers. Compare the versions of one model on its own page.",
        )
    excluded: list[str] = []
    chosen, profiles, sites = [], [], []
    rows = {
        profile.build_id: profile
        for profile in Profile.objects.filter(build__in=[each.build.pk for each in builds])
    }
    for each in builds:
        profile = rows.get(each.build.pk)
        calls = list(profile.call_sites.order_by("sequence")) if profile else []
        if reason := _fault(profile, calls):
            excluded.append(f"{each.name}: {reason}")
        elif profile:
            chosen.append(each)
            profiles.append(profile)
            sites.append(calls)
    if len(chosen) < 2:
        refusal = "At least two of the builds need a profile."
        return GroupTable(chosen, [], refusal, tuple(excluded))
    groups = list(group_deltas(node_times(profiles), sites))
    groups.sort(key=lambda one: (-one.spread_ns, one.group.nodes))
    return GroupTable(chosen, groups, "", tuple(excluded))


def _files(builds: Sequence[MeasuredBuild]) -> set[str]:
    """Digests of the network files of the builds, by their records."""
    if len({each.build.graph_id for each in builds}) == 1:
        return {""}
    rows = Record.objects.filter(pk__in=[each.build.record_id for each in builds])
    return set(rows.values_list("document__identity__model_sha256", flat=True))


def _fault(profile: Profile | None, calls: Sequence[CallSite]) -> str:
    if profile is None:
        return "it has no profile; the best builds of a search are profiled"
    if not calls:
        return "its profile has no calls"
    if any(not 0 <= call.median_ns < _SENTINEL_NS for call in calls):
        return "its profile holds times that no run can take"
    return ""


def group_deltas(
    groups: Sequence[NodeTime], sites: Sequence[Sequence[CallSite]]
) -> Iterator[GroupDelta]:
    """Each group with the calls that compute it; calls without a link form a group of their own."""
    by_node: list[dict[int, list[CallSite]]] = []
    for calls in sites:
        of_build: dict[int, list[CallSite]] = {}
        for site in calls:
            # All nodes of a call are in one group.
            first = site.nodes[0]["index"] if site.nodes else _UNLINKED
            of_build.setdefault(first, []).append(site)
        by_node.append(of_build)
    for group in groups:
        nodes = group.nodes or (_UNLINKED,)
        own = [[site for node in nodes for site in each.get(node, ())] for each in by_node]
        yield GroupDelta(
            group,
            tuple(
                ", ".join(dict.fromkeys(site.precision for site in calls if site.precision))
                for calls in own
            ),
            tuple(
                max(calls, key=lambda site: site.median_ns).sequence if calls else None
                for calls in own
            ),
        )
