"""Walks the graphs of a model in a fixed order, and reads the statistics of its weights before they
are dropped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import onnx
from onnx import GraphProto, NodeProto, TensorProto

from workers.inspection.external import ExternalBytes
from workers.inspection.numbering import stored_tensor
from workers.inspection.topology.statistics import Statistics, WeightReader
from workers.inspection.walk import graphs_in

#: Most nodes of a document, and most graphs: the main one and the bodies of control flow.
MAX_NODES, MAX_GRAPHS = 50_000, 2_000


@dataclass(frozen=True, slots=True)
class Place:
    """A graph of a model.

    Attributes:
        number: Position in the walk; 0 is the main graph.
        outer: Number of the graph that contains it; -1 for the main one.
        owner: Position of the node in the outer graph whose attribute it is.
        attribute: Name of this attribute.
        nodes: Its first nodes; others are beyond the bound on the nodes of a document.
    """

    number: int
    outer: int
    owner: int
    attribute: str
    graph: GraphProto
    nodes: Sequence[NodeProto]


def graphs_of(model: onnx.ModelProto) -> Iterator[Place]:
    """The main graph, then the bodies of its nodes, level by level, within the bounds."""
    queue: list[tuple[int, int, str, GraphProto]] = [(-1, -1, "", model.graph)]
    left = MAX_NODES
    for number in range(MAX_GRAPHS):
        if number == len(queue):
            return
        outer, owner, attribute, graph = queue[number]
        nodes = graph.node[:left]
        left -= len(nodes)
        yield Place(number, outer, owner, attribute, graph, nodes)
        for position, node in enumerate(nodes):
            for one in node.attribute:
                inner = graphs_in(one)
                names = (
                    [one.name]
                    if len(inner) == 1
                    else [f"{one.name} {n}" for n in range(len(inner))]
                )
                queue += [(number, position, n, g) for n, g in zip(names, inner, strict=True)]


@dataclass(frozen=True, slots=True)
class Weights:
    """Statistics by number of the graph, and position of the initialiser or of the constant node.

    Attributes:
        is_complete: Whether no tensor was left out because of the bounds.
    """

    initializers: dict[tuple[int, int], Statistics]
    constants: dict[tuple[int, int], Statistics]
    is_complete: bool


def read_weights(model: onnx.ModelProto, external: Sequence[ExternalBytes]) -> Weights:
    """Statistics of the weights of a checked model that still has them."""
    reader = WeightReader(external)
    initializers, constants = {}, {}
    for place in graphs_of(model):
        for position, tensor in enumerate(place.graph.initializer):
            if figures := reader.read(tensor):
                initializers[place.number, position] = figures
        for position, node in enumerate(place.nodes):
            tensor = stored_tensor(node)
            if isinstance(tensor, TensorProto) and (figures := reader.read(tensor)):
                constants[place.number, position] = figures
    return Weights(initializers, constants, not reader.is_exhausted)
