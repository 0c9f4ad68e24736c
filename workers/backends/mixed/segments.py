"""Cuts a graph into segments of consecutive nodes, which run one after another.

::

    x ─▶ [segment 0] ─ tensors ─▶ [segment 1] ─ tensors ─▶ [segment 2] ─▶ y

A segment is a model of its own. Its inputs are the tensors that it reads and does not make, its
outputs those that later segments read. Cuts are placed where few tensors cross: behind the sum of a
residual block, say, in place of within the block.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil, floor

import onnx
from onnx import helper

from workers.engine.ports import Array


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes ``start`` to ``stop`` (exclusive) of a graph.

    Attributes:
        inputs: Names of the tensors that it reads and does not make, initializers left out.
        outputs: Names of the tensors that later segments read, and of outputs of the graph.
    """

    start: int
    stop: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def cut(graph: onnx.GraphProto, layers: Sequence[int], count: int) -> list[Segment]:
    """Cut a graph into at most ``count`` segments, each with about as many of its ``layers``.

    Args:
        layers: Indices of nodes, ascending. Each segment contains one at least.
        count: At most the number of layers; with as many, each segment contains exactly one.
    """
    reads = [tuple(_reads(node)) for node in graph.node]
    last_read = {name: at for at, names in enumerate(reads) for name in names}
    last_read |= {value.name: len(reads) for value in graph.output}
    crossing = _crossings(graph, reads, last_read, frozenset(layers))
    cuts, cut_layers = [0], 0
    size = len(layers) / count
    slack = int(size / 2)
    for number in range(1, count):
        # Number of layers before the cut, and the fewest and most.
        target = number * size
        fewest = max(cut_layers + 1, floor(target) - slack)
        most = min(len(layers) - 1, ceil(target) + slack)
        if fewest > most:
            continue
        before = {
            at: bisect_left(layers, at) for at in range(layers[fewest - 1] + 1, layers[most] + 1)
        }
        place = min(before, key=lambda at: (crossing[at], abs(before[at] - target), at))
        cuts.append(place)
        cut_layers = before[place]
    constants = {tensor.name for tensor in graph.initializer}
    constants.update(tensor.values.name for tensor in graph.sparse_initializer)
    segments = []
    for start, stop in zip(cuts, [*cuts[1:], len(reads)], strict=True):
        made = [name for node in graph.node[start:stop] for name in node.output if name]
        own = constants.union(made)
        read = dict.fromkeys(n for names in reads[start:stop] for n in names if n not in own)
        outputs = [name for name in made if last_read.get(name, -1) >= stop]
        segments.append(Segment(start, stop, tuple(read), tuple(outputs)))
    return segments


def segment_model(
    model: onnx.ModelProto, segment: Segment, values: Mapping[str, Array]
) -> onnx.ModelProto:
    """A segment as a model, for inputs of the shapes and dtypes of ``values``."""
    graph = model.graph
    nodes = graph.node[segment.start : segment.stop]
    read = {name for node in nodes for name in _reads(node)}
    inputs = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(values[name].dtype), values[name].shape
        )
        for name in segment.inputs
    ]
    part = helper.make_graph(
        nodes,
        graph.name,
        inputs,
        [onnx.ValueInfoProto(name=name) for name in segment.outputs],
        [tensor for tensor in graph.initializer if tensor.name in read],
        sparse_initializer=[t for t in graph.sparse_initializer if t.values.name in read],
    )
    return helper.make_model(
        part,
        opset_imports=model.opset_import,
        functions=model.functions,
        ir_version=model.ir_version,
    )


def _crossings(
    graph: onnx.GraphProto,
    reads: Sequence[Sequence[str]],
    last_read: Mapping[str, int],
    layers: frozenset[int],
) -> list[int]:
    """For each node the number of tensors that are made before it, depend on layers, and are read
    by it or behind it."""
    dependent: set[str] = set()
    changes = [0] * (len(reads) + 2)
    for at, node in enumerate(graph.node):
        if at not in layers and dependent.isdisjoint(reads[at]):
            continue
        dependent.update(node.output)
        for name in node.output:
            if last_read.get(name, -1) > at:
                changes[at + 1] += 1
                changes[last_read[name] + 1] -= 1
    return list(accumulate(changes))


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """Names of the tensors that a node reads, those of its subgraphs included."""
    yield from (name for name in node.input if name)
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            own = {tensor.name for tensor in graph.initializer}
            own.update(value.name for value in graph.input)
            for inner in graph.node:
                yield from (name for name in _reads(inner) if name not in own)
                own.update(inner.output)
            yield from (value.name for value in graph.output if value.name not in own)
