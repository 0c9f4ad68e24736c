"""Attributes a runtime's operators to nodes of the published graph, by names and neighbours.

For runtimes that keep some names of the graph they optimise. A node is *anchored* to the operators
that have its name or produce its output. A fused node leaves no name: it is attributed to the
operator that owns all its consumers, in reverse topological order; else to the one that owns all
its producers, in topological order; else several operators share it. Each step is linear in the
graph and looks at direct neighbours only: along the new names of an optimiser, longer searches do
not terminate in useful time.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx

from workers.engine.profile import Grade, NodeLink

#: Suffixes that optimisers and quantisers append to names of nodes and tensors, also repeatedly.
_APPENDED = re.compile(
    r"(_nchwc|_token_\d+|/duplicated|_q|_quant|_quantized|_(De)?[Qq]uantizeLinear(_(Out|In)put)?"
    r"|/rewritten_\d+"
    r"|/?/MatMulAddFusion|/?/MatMulScaleFusion/?|/?/MatmulTransposeFusion/?|/WithoutBiases"
    r"|_cast_to_\w+|_(in|out)put_cast_?\d*)$"
)
_PREPENDED = re.compile(r"^(fused |InsertedPrecisionFreeCast_)")
#: Suffixes of convolutions in blocked layout that replace a normalisation or a product.
_BLOCKED, _REPLACED = "_nchwc", re.compile(r"_(bn|mul)$")


@dataclass(frozen=True, slots=True)
class AttributionNode:
    """A node of a graph; ``inputs`` include outer tensors that its subgraphs take."""

    name: str
    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttributionGraph:
    """Nodes by position in the file, and names of constant and of output tensors."""

    nodes: tuple[AttributionNode, ...]
    constants: frozenset[str]
    outputs: frozenset[str]


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that a runtime executes.

    Attributes:
        names, outputs: Names of nodes and of output tensors that it has from the published graph.
        inputs: Names of the tensors it takes; for conversions only.
        converts: Whether it only changes layout or precision for its neighbours.
    """

    kind: str
    names: tuple[str, ...]
    outputs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    converts: bool = False


@dataclass(frozen=True, slots=True)
class Attribution:
    """Links of each operator, in their order, and indices of the nodes that no operator
    computes."""

    links: tuple[tuple[NodeLink, ...], ...]
    folded: tuple[int, ...]


def read_graph(path: Path) -> AttributionGraph:
    """The graph of an ONNX file; external data are not read."""
    return graph_of(onnx.load(path, load_external_data=False).graph)


def graph_of(graph: onnx.GraphProto) -> AttributionGraph:
    """The graph, without its weights."""
    constants = {tensor.name for tensor in graph.initializer}
    constants |= {sparse.values.name for sparse in graph.sparse_initializer}
    nodes = tuple(
        AttributionNode(
            node.name, node.op_type, tuple(_inputs(node)), tuple(filter(None, node.output))
        )
        for node in graph.node
    )
    return AttributionGraph(
        nodes, frozenset(constants), frozenset(value.name for value in graph.output)
    )


def attribute(graph: AttributionGraph, operators: Sequence[Operator]) -> Attribution:
    """Link operators to the nodes of the published graph."""
    links: list[dict[int, Grade]] = [{} for _ in operators]
    owners = _anchor(graph, operators, links)
    folded = _folded(graph) - owners.keys()
    _fill(graph, owners, folded)
    for index, owned_by in owners.items():
        grade: Grade = "inferred" if len(owned_by) == 1 else "shared"
        for operator in owned_by:
            links[operator].setdefault(index, grade)
    _link_conversions(graph, operators, links)
    return Attribution(
        tuple(tuple(NodeLink(i, grade) for i, grade in sorted(each.items())) for each in links),
        tuple(sorted(set(range(len(graph.nodes))) - owners.keys())),
    )


def counterparts(graph: AttributionGraph, derived: AttributionGraph) -> list[tuple[int, ...]]:
    """For each node of a graph that was derived from ``graph``: the nodes of ``graph`` whose name
    or outputs it has, by position."""
    by_output, by_name = _tables(graph)
    sources = []
    for node in derived.nodes:
        indices = {_look_up(name, by_output, {}) for name in node.outputs}
        indices.add(_look_up(node.name, by_name, by_output))
        sources.append(tuple(sorted(index for index in indices if index is not None)))
    return sources


def _tables(graph: AttributionGraph) -> tuple[dict[str, int], dict[str, int]]:
    """Nodes by the names of their outputs, and by their own names."""
    by_output = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
    by_name: dict[str, int] = {}
    for i, node in enumerate(graph.nodes):
        # Names of several nodes are ambiguous and not used.
        by_name[node.name] = -1 if node.name in by_name or not node.name else i
    return by_output, by_name


def _anchor(
    graph: AttributionGraph, operators: Sequence[Operator], links: list[dict[int, Grade]]
) -> dict[int, set[int]]:
    """Operators by the node whose name or output they have; also added to ``links``."""
    by_output, by_name = _tables(graph)
    owners: dict[int, set[int]] = {}
    for number, operator in enumerate(operators):
        nodes = {_look_up(name, by_output, {}) for name in operator.outputs}
        nodes |= {_look_up(name, by_name, by_output) for name in operator.names}
        for index in nodes - {None}:
            assert index is not None  # noqa: S101  for mypy
            if operator.converts and operator.kind != graph.nodes[index].operator:
                links[number][index] = "shared"
            else:
                links[number][index] = "exact"
                owners.setdefault(index, set()).add(number)
    for number, each in enumerate(links):
        # A node that only conversions are named after is computed by them.
        for index in each:
            if each[index] == "shared" and index not in owners:
                owners[index] = {number}
    return owners


def _link_conversions(
    graph: AttributionGraph, operators: Sequence[Operator], links: list[dict[int, Grade]]
) -> None:
    """Link conversions without a name to the producer of their input, or to its consumers if it is
    an input of the graph."""
    by_output = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
    by_input: dict[str, list[int]] = {}
    for index, node in enumerate(graph.nodes):
        for name in node.inputs:
            by_input.setdefault(name, []).append(index)
    for operator, each in zip(operators, links, strict=True):
        if not operator.converts or each:
            continue
        for name in operator.inputs:
            producer = _look_up(name, by_output, {})
            for index in by_input.get(name, []) if producer is None else [producer]:
                each[index] = "shared"


def _look_up(name: str, first: dict[str, int], second: dict[str, int]) -> int | None:
    """The node with a name, as it is or without prefixes and suffixes that were added to it."""
    blocked = name.endswith(_BLOCKED)
    while True:
        for table in (first, second):
            if table.get(name, -1) >= 0:
                return table[name]
        shorter = _APPENDED.sub("", _PREPENDED.sub("", name))
        if shorter == name and blocked:
            shorter, blocked = _REPLACED.sub("", name), False
        if shorter == name:
            return None
        name = shorter


def _folded(graph: AttributionGraph) -> set[int]:
    """Nodes that take constants only, or whose outputs are not used."""
    constants = set(graph.constants)
    folded = set()
    for index, node in enumerate(graph.nodes):
        if all(name in constants for name in node.inputs):
            constants.update(node.outputs)
            folded.add(index)
    needed = set(graph.outputs)
    for index, node in reversed(list(enumerate(graph.nodes))):
        if needed.isdisjoint(node.outputs):
            folded.add(index)
        else:
            needed.update(node.inputs)
    return folded


def _fill(graph: AttributionGraph, owners: dict[int, set[int]], folded: set[int]) -> None:
    """Attribute all other nodes that are not folded to their neighbours' operators."""
    producer = {name: i for i, node in enumerate(graph.nodes) for name in node.outputs}
    producers = [[producer[n] for n in node.inputs if n in producer] for node in graph.nodes]
    consumers: list[list[int]] = [[] for _ in graph.nodes]
    for index, sources in enumerate(producers):
        for source in sources:
            consumers[source].append(index)
    missing = [i for i in range(len(graph.nodes)) if i not in owners and i not in folded]
    for order, neighbours in ((reversed(missing), consumers), (iter(missing), producers)):
        for index in order:
            around = _owners_of(neighbours[index], owners)
            if index not in owners and len(around) == 1:
                owners[index] = around
    for index in missing:
        if index not in owners:
            around = _owners_of([*consumers[index], *producers[index]], owners)
            if around:
                owners[index] = around


def _owners_of(indices: Iterable[int], owners: dict[int, set[int]]) -> set[int]:
    return {operator for index in indices for operator in owners.get(index, ())}


def _inputs(node: onnx.NodeProto) -> list[str]:
    """Names of the tensors a node takes, including outer tensors that its subgraphs take."""
    names = [name for name in node.input if name]
    waiting = [a.g for a in node.attribute if a.HasField("g")]
    waiting += [graph for a in node.attribute for graph in a.graphs]
    while waiting:
        graph = waiting.pop()
        inside = {value.name for value in (*graph.input, *graph.initializer)}
        for inner in graph.node:
            names += [name for name in inner.input if name and name not in inside]
            inside.update(inner.output)
            waiting += [a.g for a in inner.attribute if a.HasField("g")]
            waiting += [deeper for a in inner.attribute for deeper in a.graphs]
        names += [value.name for value in graph.output if value.name not in inside]
    return list(dict.fromkeys(names))
