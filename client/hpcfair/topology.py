"""Networks as graphs: documents of the schema ``hpcfair.topology/1``, and trees of their groups."""

from collections.abc import Iterator
from typing import Any

from hpcfair.mlmodel import address
from hpcfair.transport import Transport

#: The document; ``/api/v1/schemas/hpcfair.topology-1.json`` of a hub describes it.
Topology = dict[str, Any]


def topology(
    http: Transport, name: str, *, revision: str | None = None, path: str | None = None
) -> Topology:
    """See :meth:`Client.topology`."""
    document: Topology = http.get(f"{address(name)}/topology", {"revision": revision, "path": path})
    return document


def tree(document: Topology, *, depth: int | None = None) -> Iterator[str]:
    """Lines of a tree: groups with their numbers of nodes, and nodes with operator, name and type.

    Args:
        depth: Levels of groups that are opened; ``None`` for all.
    """
    nodes, groups = document["nodes"], document["groups"]
    members: list[list[int]] = [[] for _ in groups["name"]]
    inner: list[list[int]] = [[] for _ in groups["name"]]
    for node, x in enumerate(nodes["x"]):
        if x is not None:
            members[nodes["group"][node]].append(node)
    sizes = [len(own) for own in members]
    for group in range(len(sizes) - 1, 0, -1):
        inner[groups["parent"][group]].insert(0, group)
        sizes[groups["parent"][group]] += sizes[group]
    stack = [(0, 0)]
    while stack:
        group, level = stack.pop()
        title = groups["name"][group] or document["path"]
        yield f"{'  ' * level}{title}  ({sizes[group]:,} nodes)"
        if depth is not None and level >= depth:
            continue
        yield from (f"{'  ' * (level + 1)}{_line(document, node)}" for node in members[group])
        stack += [(one, level + 1) for one in reversed(inner[group])]


def _line(document: Topology, node: int) -> str:
    nodes, tensors = document["nodes"], document["tensors"]
    operator = document["operators"][nodes["operator"][node]]
    output = next((tensor for tensor in nodes["outputs"][node] if tensor >= 0), None)
    kind = ""
    if output is not None and tensors["dtype"][output] >= 0:
        shape = tensors["shape"][output]
        sizes = "" if shape is None else f"[{','.join(map(str, shape))}]"
        kind = document["dtypes"][tensors["dtype"][output]] + sizes
    return "  ".join(filter(None, (f"{node}", operator, nodes["name"][node], kind)))
