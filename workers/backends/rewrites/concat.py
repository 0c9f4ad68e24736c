"""Replaces convolutions of concatenations by sums of convolutions.

A pointwise convolution of a concatenation is the sum of convolutions of its parts. A sum costs a
pass over the convolution's output, a concatenation a pass over its input::

    a ─┐                                  a ─ conv ─┐
       Concat (128) ─ conv (16) ─ Relu ─▶           Add (16) ─ Relu
    b ─┘                                  b ─ conv ─┘

Runtimes that fuse the sum into the convolution, as ONNX Runtime does in its blocked layout, save
both passes. A max-pooling in between is applied to the parts.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import onnx
from onnx import helper

from workers.backends.rewrites.graph import EditableGraph, attribute, is_pointwise
from workers.engine.ports import Array

#: Channels in a block; parts of other widths would have to be copied.
_BLOCK = 16
#: Least ratio of concatenated to summed channels.
_GAIN = 2


def split_over_concat(graph: EditableGraph) -> int:
    """Split pointwise convolutions of concatenations; returns the number of concatenations."""
    return sum(_split(graph, node) for node in list(graph.nodes))


def _split(graph: EditableGraph, concat: onnx.NodeProto) -> bool:
    if concat.op_type != "Concat" or attribute(concat, "axis", 0) != 1:
        return False
    widths = [_channels(graph, name) for name in concat.input]
    pool = _only_pool(graph, concat.output[0])
    convolutions = _splittable(graph, (pool or concat).output[0])
    # Each part after the first costs a pass over the sum.
    summed = (len(widths) - 1) * sum(map(len, convolutions.values()))
    if not convolutions or 0 in widths or _GAIN * summed > sum(widths):
        return False
    parts = list(concat.input) if pool is None else _pool_parts(graph, pool, concat.input)
    for convolution in list(convolutions):
        _convolve_parts(graph, graph.producers[convolution], parts, widths)
    for node in (pool, concat):
        if node is not None:
            graph.replace([node], [])
    return True


def _channels(graph: EditableGraph, name: str) -> int:
    """Number of channels of an image if it is a multiple of the block size; else 0."""
    shape = graph.shape(name)
    channels = shape[1] if shape and len(shape) == 4 else 0
    return channels if isinstance(channels, int) and channels % _BLOCK == 0 else 0


def _only_pool(graph: EditableGraph, name: str) -> onnx.NodeProto | None:
    """The max-pooling that is the only consumer of a value."""
    consumer = graph.only_consumer(name)
    is_pool = consumer is not None and consumer.op_type == "MaxPool" and len(consumer.output) == 1
    return consumer if is_pool else None


def _splittable(graph: EditableGraph, name: str) -> dict[str, Array]:
    """Weights by output of the pointwise convolutions of a value; empty if it has other
    consumers."""
    convolutions: dict[str, Array] = {}
    for consumer in graph.consumers[name]:
        has_weights = consumer is not None and len(consumer.input) > 1
        weights = graph.constant(consumer.input[1]) if consumer and has_weights else None
        if consumer is None or weights is None or not is_pointwise(consumer, weights):
            return {}
        if consumer.input[0] != name or attribute(consumer, "group", 1) != 1:
            return {}
        convolutions[consumer.output[0]] = weights
    return convolutions


def _pool_parts(graph: EditableGraph, pool: onnx.NodeProto, parts: Sequence[str]) -> list[str]:
    pooled = [graph.fresh(pool.output[0]) for _ in parts]
    nodes = []
    for part, name in zip(parts, pooled, strict=True):
        node = helper.make_node("MaxPool", [part], [name], name=name)
        node.attribute.extend(pool.attribute)
        nodes.append(node)
    graph.replace([pool], [*nodes, pool])
    return pooled


def _convolve_parts(
    graph: EditableGraph, convolution: onnx.NodeProto, parts: Sequence[str], widths: Sequence[int]
) -> None:
    """Replace a convolution by the sum of convolutions of the parts."""
    weights = graph.constant(convolution.input[1])
    assert weights is not None  # noqa: S101  for mypy
    ends = np.cumsum([0, *widths])
    total, nodes = "", []
    for number, (part, (low, high)) in enumerate(zip(parts, pairwise(ends), strict=True)):
        weight = graph.add_constant(convolution.input[1], weights[:, low:high])
        # The bias belongs to the first part only.
        bias = list(convolution.input[2:]) if number == 0 else []
        output = graph.fresh(convolution.output[0])
        node = helper.make_node("Conv", [part, weight, *bias], [output], name=output)
        node.attribute.extend(convolution.attribute)
        nodes.append(node)
        if total:
            last = number == len(parts) - 1
            summed = convolution.output[0] if last else graph.fresh(convolution.output[0])
            # Runtimes can fuse the addition into the latest convolution.
            nodes.append(
                helper.make_node("Add", [total, output], [summed], name=graph.fresh(summed))
            )
            output = summed
        total = output
    graph.replace([convolution], nodes)
