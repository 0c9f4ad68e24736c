"""Links calls to the nodes of the graph they compute, and finds folded nodes."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import onnx

from workers.backends.attribution import counterparts, read_graph
from workers.backends.tvm.provenance import Site
from workers.engine.profile import NodeLink


def published_sites(published: Path, source: Path, sites: Sequence[Site]) -> list[Site]:
    """Sites of a network that was imported from ``source``, with the nodes of the published file as
    owners."""
    if source == published:
        return list(sites)
    nodes = counterparts(read_graph(published), read_graph(source))
    return [
        replace(site, owners=tuple(sorted({at for owner in site.owners for at in nodes[owner]})))
        for site in sites
    ]


def links_of(path: Path, sites: Sequence[Site]) -> tuple[list[tuple[NodeLink, ...]], list[int]]:
    """Links of each site, and indices of the nodes that no site computes.

    A node merged into its neighbours, such as a normalisation into weights, is linked to its
    consumers' sites as ``inferred``. Nodes that depend on constants only were computed at build
    time: no site.
    """
    graph = onnx.load(path, load_external_data=False).graph
    owned: dict[int, list[int]] = defaultdict(list)
    for at, site in enumerate(sites):
        for owner in site.owners:
            owned[owner].append(at)
    inferred: dict[int, list[int]] = defaultdict(list)
    varying, consumers = _varying(graph), _consumers(graph)
    folded: list[int] = []
    # In reverse order, so that chains of such nodes are linked to the same site.
    for index in reversed(range(len(graph.node))):
        if index in owned:
            continue
        near = {at for user in consumers[index] for at in (owned.get(user) or inferred[user])[:1]}
        if index in varying and near and not _is_identity(graph.node[index]):
            inferred[index] = sorted(near)
        else:
            folded.append(index)
    links: list[list[NodeLink]] = [
        [NodeLink(owner, "shared" if site.shared else "exact") for owner in site.owners]
        for site in sites
    ]
    for index, near_sites in inferred.items():
        for at in near_sites:
            links[at].append(NodeLink(index, "inferred"))
    ordered = [tuple(sorted(each, key=lambda link: link.index)) for each in links]
    return ordered, sorted(folded)


def _varying(graph: onnx.GraphProto) -> set[int]:
    """Nodes whose outputs depend on the network's inputs."""
    initializers = {tensor.name for tensor in graph.initializer}
    values = {value.name for value in graph.input} - initializers
    varying = set()
    for index, node in enumerate(graph.node):
        if node.op_type != "Shape" and any(name in values for name in node.input):
            varying.add(index)
            values.update(node.output)
    return varying


def _consumers(graph: onnx.GraphProto) -> list[list[int]]:
    users: dict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(graph.node):
        for name in node.input:
            users[name].append(index)
    return [[user for name in node.output for user in users[name]] for node in graph.node]


def _is_identity(node: onnx.NodeProto) -> bool:
    """Whether a node's output is its input."""
    return node.op_type in {"Identity", "Dropout"}
