"""Pads channels to whole blocks, so that poolings stay in the blocked layout.

ONNX Runtime convolves in blocks of 16 channels and pads the last block itself, but pools in blocks
only if none needs padding. The added channels are zero and are removed after the pooling::

    conv (24) ─ Relu ─ MaxPool   ─▶   conv (32) ─ Relu ─ MaxPool ─ Slice (24)
"""

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.graph import EditableGraph, attribute

_BLOCK = 16
_CELLWISE = frozenset({"Relu", "Clip"})
_POOLS = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})


def align_channels(graph: EditableGraph) -> int:
    """Pad the channels of convolutions before a pooling; returns the number of convolutions."""
    return sum(_align(graph, node) for node in list(graph.nodes) if node.op_type == "Conv")


def _align(graph: EditableGraph, convolution: onnx.NodeProto) -> bool:
    weights = graph.constant(convolution.input[1])
    if weights is None or weights.ndim != 4 or attribute(convolution, "group", 1) != 1:
        return False
    missing = -weights.shape[0] % _BLOCK
    pool = _pool_after(graph, convolution)
    # Convolutions with fewer channels than a block do not use the blocked layout.
    if not missing or pool is None or weights.shape[0] < _BLOCK:
        return False
    for position, name in list(enumerate(convolution.input))[1:]:
        value = graph.constant(name)
        if value is None:
            return False
        padded = np.pad(value, [(0, missing)] + [(0, 0)] * (value.ndim - 1))
        convolution.input[position] = graph.add_constant(name, padded)
    aligned = graph.fresh(pool.output[0])
    bounds = [
        graph.add_constant(aligned, np.array([value], np.int64))
        for value in (0, weights.shape[0], 1)
    ]
    cut = helper.make_node("Slice", [aligned, *bounds], [pool.output[0]], name=graph.fresh(aligned))
    pool.output[0] = aligned
    graph.replace([pool], [pool, cut])
    return True


def _pool_after(graph: EditableGraph, node: onnx.NodeProto) -> onnx.NodeProto | None:
    """The pooling that is the only consumer of a node, also behind elementwise operators."""
    consumers = graph.consumers[node.output[0]]
    consumer = consumers[0] if len(consumers) == 1 else None
    if consumer is None or len(consumer.output) > 1:
        return None
    if consumer.op_type in _CELLWISE and consumer.input[0] == node.output[0]:
        return _pool_after(graph, consumer)
    return consumer if consumer.op_type in _POOLS else None
