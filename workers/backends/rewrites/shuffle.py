"""Replaces the three operators of a channel shuffle by one copy.

A channel shuffle (Zhang et al. 2017, section 3.1) interleaves the channels of groups::

    Reshape [N, groups, channels, H, W] ─ Transpose ─ Reshape [N, C, H, W]   ─▶   Gather
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from workers.backends.rewrites.graph import EditableGraph, attribute

_SWAPPED = [0, 2, 1, 3, 4]


@dataclass(frozen=True, slots=True)
class Shuffle:
    """A channel shuffle in a graph.

    Attributes:
        nodes: Its operators: Reshape, Transpose, Reshape.
        order: Permutation of the channels: ``after[i] == before[order[i]]``.
    """

    nodes: tuple[onnx.NodeProto, onnx.NodeProto, onnx.NodeProto]
    order: npt.NDArray[np.int64]

    @property
    def source(self) -> str:
        return str(self.nodes[0].input[0])

    @property
    def result(self) -> str:
        return str(self.nodes[-1].output[0])


def gather_shuffles(graph: EditableGraph) -> int:
    """Replace shuffles by ``Gather``; returns their number."""
    replaced = shuffles(graph)
    for shuffle in replaced:
        order = graph.add_constant(shuffle.result, shuffle.order)
        gather = helper.make_node(
            "Gather", [shuffle.source, order], [shuffle.result], shuffle.nodes[1].name, axis=1
        )
        graph.replace(shuffle.nodes, [gather])
    return len(replaced)


def shuffles(graph: EditableGraph) -> list[Shuffle]:
    """All channel shuffles of a graph."""
    candidates = [
        _shuffle_around(graph, node) for node in graph.nodes if node.op_type == "Transpose"
    ]
    return [shuffle for shuffle in candidates if shuffle is not None]


def _shuffle_around(graph: EditableGraph, transpose: onnx.NodeProto) -> Shuffle | None:
    before = graph.producers.get(transpose.input[0])
    after = graph.only_consumer(transpose.output[0])
    if before is None or after is None or {before.op_type, after.op_type} != {"Reshape"}:
        return None
    split, whole = graph.shape(before.output[0]), graph.shape(before.input[0])
    if list(attribute(transpose, "perm", [])) != _SWAPPED or split is None or whole is None:
        return None
    outer, inner = split[1:3]
    if not isinstance(outer, int) or not isinstance(inner, int):
        return None
    same = (split[0], outer * inner, *split[3:]) == whole == graph.shape(after.output[0])
    if not same or graph.only_consumer(before.output[0]) is not transpose:
        return None
    order = np.arange(outer * inner).reshape(outer, inner).T.ravel()
    return Shuffle((before, transpose, after), order)
