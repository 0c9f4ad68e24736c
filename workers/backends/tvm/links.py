"""From the owners of calls to links between calls and nodes, with those no call owns."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import onnx

from workers.backends.tvm.provenance import Site
from workers.engine.profile import NodeLink


def links_of(path: Path, sites: Sequence[Site]) -> tuple[list[tuple[NodeLink, ...]], list[int]]:
    """Links of each site, and the nodes that no site computes.

    A node that went up into its neighbours, such as a normalisation into weights, is linked to
    the sites of its consumers as ``inferred``. What only constants lead to is left: it was
    computed when the build was made.
    """
    graph = onnx.load(path, load_external_data=False).graph
    owned: dict[int, list[int]] = defaultdict(list)
    for at, site in enumerate(sites):
        for owner in site.owners:
            owned[owner].append(at)
    inferred: dict[int, list[int]] = defaultdict(list)
    varying, consumers = _varying(graph), _consumers(graph)
    folded: list[int] = []
    # Backwards, so that a chain of such nodes ends at the same site.
    for index in reversed(range(len(graph.node))):
        if index in owned:
            continue
        near = {at for user in consumers[index] for at in (owned.get(user) or inferred[user])[:1]}
        if index in varying and near and not _passes_on(graph.node[index]):
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
    return [tuple(sorted(found, key=lambda link: link.index)) for found in links], sorted(folded)


def _varying(graph: onnx.GraphProto) -> set[int]:
    """Nodes whose outputs depend on the network's inputs."""
    stored = {tensor.name for tensor in graph.initializer}
    alive = {value.name for value in graph.input} - stored
    found = set()
    for index, node in enumerate(graph.node):
        if node.op_type != "Shape" and any(name in alive for name in node.input):
            found.add(index)
            alive.update(node.output)
    return found


def _consumers(graph: onnx.GraphProto) -> list[list[int]]:
    users: dict[str, list[int]] = defaultdict(list)
    for index, node in enumerate(graph.node):
        for name in node.input:
            users[name].append(index)
    return [[user for name in node.output for user in users[name]] for node in graph.node]


def _passes_on(node: onnx.NodeProto) -> bool:
    """Whether a node's output is its input: nothing is left to compute."""
    return node.op_type in {"Identity", "Dropout"}
