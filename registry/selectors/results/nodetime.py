"""Compares the profiles of two builds of one network by the nodes of its graph."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from registry.tables import Build, CallSite, ImportedCall, ImportedProfile, Profile

_MOST_OPERATORS = 4
#: Key of the group of calls without a link; positions of nodes are not negative.
_UNLINKED = -1


@dataclass(frozen=True, slots=True)
class NodeTime:
    """Time of a group of nodes that no call site of the profiles divides.

    Attributes:
        nodes: Positions in the graph, ascending; empty for calls without a link to the graph.
        operators: Names of the calls' operators, in the order of execution, without repetitions.
        times_ns: Nanoseconds in each profile.
    """

    nodes: tuple[int, ...]
    operators: tuple[str, ...]
    times_ns: tuple[int, ...]

    @property
    def label(self) -> str:
        """``nodes 3–5: Conv, Relu``."""
        names = list(self.operators[:_MOST_OPERATORS])
        if len(self.operators) > _MOST_OPERATORS:
            names.append("…")
        return f"{_ranges(self.nodes)}: {', '.join(names)}"


def baseline_of(build: Build) -> Build | None:
    """The baseline that a build was compared with: that of its job, or else the newest one."""
    rows = Build.objects.filter(
        graph=build.graph_id,
        target=build.target_id,
        scenario=build.scenario,
        is_baseline=True,
    )
    of_job = rows.filter(job=build.job_id).order_by("-id").first() if build.job_id else None
    return of_job or rows.order_by("-id").first()


def node_times(profiles: Sequence[Profile | ImportedProfile]) -> list[NodeTime]:
    """Times of the groups of nodes in each profile.

    Nodes that one call site computes, in any of the profiles, are in one group, because its time
    cannot be divided among them.
    """
    return group_times([_sites(profile) for profile in profiles])


def group_times(sites: Sequence[Sequence[CallSite | ImportedCall]]) -> list[NodeTime]:
    """As :func:`node_times`, of the call sites of each profile in the order of execution."""
    roots = groups_of(_positions(site) for rows in sites for site in rows)
    times: dict[int, list[int]] = {}
    operators: dict[int, dict[str, None]] = {}
    for number, rows in enumerate(sites):
        for site in rows:
            positions = _positions(site)
            root = roots[positions[0]] if positions else _UNLINKED
            times.setdefault(root, [0] * len(sites))[number] += site.median_ns
            operators.setdefault(root, {})[site.operator] = None
    members: dict[int, list[int]] = {}
    for node, root in sorted(roots.items()):
        members.setdefault(root, []).append(node)
    return [
        NodeTime(tuple(members.get(root, ())), tuple(operators[root]), tuple(sums))
        for root, sums in times.items()
    ]


def _sites(profile: Profile | ImportedProfile) -> list[CallSite] | list[ImportedCall]:
    if isinstance(profile, ImportedProfile):
        return list(profile.call_sites.order_by("sequence"))
    return list(profile.call_sites.order_by("sequence"))


def _positions(site: CallSite | ImportedCall) -> list[int]:
    return [node["index"] for node in site.nodes]


def groups_of(sets: Iterable[Sequence[int]]) -> dict[int, int]:
    """Node to the representative of its group: the classes that sets of nodes connect."""
    parents: dict[int, int] = {}

    def root(node: int) -> int:
        parents.setdefault(node, node)
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    for nodes in sets:
        for node in nodes:
            parents[root(node)] = root(nodes[0])
    return {node: root(node) for node in list(parents)}


def _ranges(nodes: Sequence[int]) -> str:
    """``nodes 3–5, 8``; long lists are cut."""
    if not nodes:
        return "not linked to a node"
    runs: list[list[int]] = []
    for node in nodes:
        if runs and node == runs[-1][1] + 1:
            runs[-1][1] = node
        else:
            runs.append([node, node])
    texts = [f"{first}–{last}" if first != last else str(first) for first, last in runs[:3]]
    noun = "node" if len(nodes) == 1 else "nodes"
    return f"{noun} {', '.join(texts)}" + (", …" if len(runs) > 3 else "")
