"""Folds channel shuffles into the weights of following convolutions.

A convolution with one group can read its channels in any order, so a shuffle before it is free,
also if channelwise operators stand between::

    shuffle ─ depthwise conv ─ conv, 4 groups   ─▶   depthwise conv ─ conv, 1 group

Three quarters of the weights are then zero. This is still faster with OpenVINO's int8 kernels,
whose vectors groups do not fill, but not with ONNX Runtime's in float32.
"""

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph, attribute, is_pointwise, set_attribute
from workers.backends.rewrites.shuffle import Shuffle, shuffles
from workers.engine.ports import Array

#: With more groups, too many weights would be zero.
_MOST_GROUPS = 8
_CELLWISE = frozenset({"Relu", "Clip"})


def fold_shuffles(graph: EditableGraph) -> int:
    """Fold shuffles into following weights; returns the number of shuffles."""
    return sum(_fold(graph, shuffle) for shuffle in shuffles(graph))


def _fold(graph: EditableGraph, shuffle: Shuffle) -> bool:
    between, convolution = _until_convolution(graph, shuffle)
    weights = None if convolution is None else graph.constant(convolution.input[1])
    if convolution is None or weights is None:
        return False
    for node in between:
        for position, name in list(enumerate(node.input))[1:]:
            value = graph.constant(name)
            # Scalars, such as the bounds of a Clip, apply to all channels.
            if value is not None and value.ndim:
                unshuffled = np.empty_like(value)
                unshuffled[shuffle.order] = value
                node.input[position] = graph.add_constant(name, unshuffled)
    _read_shuffled(graph, convolution, weights, shuffle)
    (between[0] if between else convolution).input[0] = shuffle.source
    graph.replace(shuffle.nodes, [])
    return True


def _until_convolution(
    graph: EditableGraph, shuffle: Shuffle
) -> tuple[list[onnx.NodeProto], onnx.NodeProto | None]:
    """The channelwise operators behind a shuffle, and the convolution behind them."""
    between: list[onnx.NodeProto] = []
    value = shuffle.result
    while (node := graph.only_consumer(value)) is not None and node.input[0] == value:
        if _mixes_few_groups(graph, node):
            return between, node
        if not _is_channelwise(graph, node, len(shuffle.order)):
            break
        between.append(node)
        value = node.output[0]
    return between, None


def _mixes_few_groups(graph: EditableGraph, node: onnx.NodeProto) -> bool:
    if node.op_type != "Conv" or attribute(node, "group", 1) > _MOST_GROUPS:
        return False
    return is_pointwise(node, graph.constant(node.input[1]))


def _is_channelwise(graph: EditableGraph, node: onnx.NodeProto, channels: int) -> bool:
    """Whether each output channel depends on the same input channel and constants only."""
    constants = [graph.constant(name) for name in node.input[1:]]
    if len(node.output) > 1 or any(value is None for value in constants):
        return False
    if node.op_type in _CELLWISE:
        return True
    if any(value is None or len(value) != channels for value in constants):
        return False
    depthwise = node.op_type == "Conv" and attribute(node, "group", 1) == channels
    return depthwise or node.op_type == "BatchNormalization"


def _read_shuffled(
    graph: EditableGraph, node: onnx.NodeProto, weights: Array, shuffle: Shuffle
) -> None:
    """Make a convolution read channel ``order[i]`` as its channel ``i``, with one group."""
    groups = int(attribute(node, "group", 1))
    outputs, inputs = len(weights) // groups, weights.shape[1]
    dense = np.zeros((len(weights), inputs * groups, *weights.shape[2:]), weights.dtype)
    for group in range(groups):
        rows = slice(group * outputs, (group + 1) * outputs)
        columns = shuffle.order[group * inputs : (group + 1) * inputs]
        dense[rows, columns] = weights[rows]
    node.input[1] = graph.add_constant(node.input[1], dense)
    set_attribute(node, "group", 1)
