"""Hierarchy of a network for collapsing: by the scopes in names, else by repeated blocks."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from workers.inspection.topology.blocks import Tree, blocks_of, chunks
from workers.inspection.topology.scopes import scopes_of

#: Most members of a group, so that an opened one can be drawn.
MAX_MEMBERS = 100
#: Most characters of a name.
_MAX_NAME = 80


@dataclass(slots=True, eq=False)
class NodeGroup:
    """A group with its nodes and the groups inside; ``kind`` is ``network``, ``scope``, ``block``,
    ``part`` or ``body``."""

    name: str
    kind: str
    nodes: list[int] = field(default_factory=list)
    groups: list["NodeGroup"] = field(default_factory=list)

    def all_nodes(self) -> list[int]:
        """Its nodes, and those of the groups inside, in the order of the file."""
        nodes: list[int] = []
        stack = [self]
        while stack:
            group = stack.pop()
            nodes += group.nodes
            stack += group.groups
        return sorted(nodes)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Groups as columns; group 0 is the network, parents come before their groups.

    Attributes:
        group: NodeGroup of each node.
        alike: Class of groups with the same operators in the same order; -1 for single ones.
    """

    group: list[int]
    names: list[str]
    parents: list[int]
    kinds: list[str]
    alike: list[int]


def hierarchy(
    names: Sequence[str],
    operators: Sequence[str],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
    order: Sequence[int],
    bodies: Sequence[tuple[int, str]] = (),
    body_of: Sequence[int] = (),
    fixed: frozenset[int] = frozenset(),
) -> Hierarchy:
    """Groups of nodes, in topological ``order``; every node is in exactly one.

    Args:
        bodies: Node that a subgraph belongs to, and its name; the first is the main graph.
        body_of: Position in ``bodies`` of each node; empty if there are no subgraphs.
        fixed: Nodes that compute the same in every run; blocks do not depend on them.
    """
    inside = body_of or [0] * len(names)
    root = NodeGroup("", "network")
    made: dict[int, NodeGroup] = {0: root}
    for number, (owner, name) in enumerate(bodies):
        if number:
            made[number] = NodeGroup(name, "body")
            made[inside[owner]].groups.append(made[number])
    members: dict[int, list[int]] = {number: [] for number in made}
    for node in order:
        members[inside[node]].append(node)
    for number, group in made.items():
        scopes = scopes_of(members[number], names, before, after)
        if scopes is None:
            flowing = [node for node in members[number] if node not in fixed]
            homes: dict[int, NodeGroup] = {}
            _fill(group, blocks_of(flowing, operators, before, after), homes)
            # Each beside its first reader.
            for node in reversed(members[number]):
                if node in fixed:
                    reader = next((other for other in after[node] if other in homes), None)
                    homes[node] = group if reader is None else homes[reader]
                    homes[node].nodes.append(node)
        else:
            _scoped(group, members[number], scopes)
    _tidy(root, is_root=True)
    return _columns(root, len(names), operators)


def _scoped(root: NodeGroup, nodes: Sequence[int], scopes: dict[int, tuple[str, ...]]) -> None:
    groups: dict[tuple[str, ...], NodeGroup] = {(): root}
    for node in nodes:
        path = scopes[node]
        for depth in range(1, len(path) + 1):
            if path[:depth] not in groups:
                group = groups[path[:depth]] = NodeGroup(path[depth - 1], "scope")
                groups[path[: depth - 1]].groups.append(group)
        groups[path].nodes.append(node)


def _fill(group: NodeGroup, tree: Tree, homes: dict[int, NodeGroup]) -> None:
    for member in tree:
        if isinstance(member, int):
            group.nodes.append(member)
            homes[member] = group
        else:
            inner = NodeGroup(member[0], "block")
            group.groups.append(inner)
            _fill(inner, member[1], homes)


def _tidy(root: NodeGroup, *, is_root: bool) -> None:
    """Dissolve groups of one node, merge groups with nothing but one group, and split those with
    too many members."""
    groups = [root]
    for group in groups:
        groups += group.groups
    for group in reversed(groups):
        _lift_single(group)
    stack = [(root, is_root)]
    while stack:
        group, keep = stack.pop()
        while not keep and not group.nodes and len(group.groups) == 1:
            only = group.groups[0]
            if "body" in {group.kind, only.kind}:
                break
            group.name = f"{group.name}/{only.name}"
            group.nodes, group.groups = only.nodes, only.groups
        _split(group)
        stack += [(inner, False) for inner in group.groups]


def _lift_single(group: NodeGroup) -> None:
    """Take nodes out of groups that hold nothing else."""
    for inner in group.groups:
        if inner.kind != "body" and len(inner.nodes) == 1 and not inner.groups:
            group.nodes += inner.nodes
            inner.nodes = []
    group.groups = [inner for inner in group.groups if inner.nodes or inner.groups]


def _split(group: NodeGroup) -> None:
    count = len(group.nodes) + len(group.groups)
    if count <= MAX_MEMBERS:
        return
    bodies = [inner for inner in group.groups if inner.kind == "body"]
    first = {id(inner): min(inner.all_nodes(), default=0) for inner in group.groups}
    members: list[int | NodeGroup] = [*group.nodes, *(g for g in group.groups if g.kind != "body")]
    members.sort(key=lambda one: one if isinstance(one, int) else first[id(one)])
    parts = []
    for number, part in enumerate(chunks(members, MAX_MEMBERS)):
        inner = NodeGroup(f"Part {number + 1}", "part")
        inner.nodes = [one for one in part if isinstance(one, int)]
        inner.groups = [one for one in part if not isinstance(one, int)]
        parts.append(inner)
    group.nodes, group.groups = [], parts
    # Bodies stay beside the parts, unless they are too many themselves.
    if len(bodies) + len(parts) <= MAX_MEMBERS:
        group.groups += bodies
    else:
        for number, some in enumerate(chunks(bodies, MAX_MEMBERS)):
            group.groups.append(NodeGroup(f"Bodies {number + 1}", "part", groups=some))


def _columns(root: NodeGroup, count: int, operators: Sequence[str]) -> Hierarchy:
    group_of = [0] * count
    names: list[str] = []
    parents: list[int] = []
    kinds: list[str] = []
    hashes: list[str] = []
    stack: list[tuple[NodeGroup, int]] = [(root, -1)]
    while stack:
        group, parent = stack.pop()
        number = len(names)
        names.append(group.name[:_MAX_NAME])
        parents.append(parent)
        kinds.append(group.kind)
        sequence = "\n".join(operators[node] for node in group.all_nodes())
        hashes.append(hashlib.sha256(sequence.encode()).hexdigest())
        for node in group.nodes:
            group_of[node] = number
        stack += [(inner, number) for inner in reversed(group.groups)]
    counts = Counter(hashes)
    classes = {value: n for n, value in enumerate(v for v in counts if counts[v] > 1)}
    return Hierarchy(group_of, names, parents, kinds, [classes.get(value, -1) for value in hashes])
