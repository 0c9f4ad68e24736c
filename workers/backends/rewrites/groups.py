"""Shuffles of channels in the weights of the convolutions behind them.

A convolution in one group reads its channels in any order, so a shuffle before it costs nothing,
however many operators that treat each channel alone stand between::

    shuffle ─ depthwise conv ─ conv, 4 groups   ─▶   depthwise conv ─ conv, 1 group

Three quarters of its weights are zero then. OpenVINO's kernels more than make up for it in int8,
where groups do not fill their vectors; ONNX Runtime's in float32 do not.
"""

import numpy as np
import onnx

from workers.backends.rewrites.network import Network, attribute, is_pointwise, set_attribute
from workers.backends.rewrites.shuffle import Shuffle, shuffles
from workers.engine.ports import Array

#: Beyond this many groups there are too many zeros.
_MOST_GROUPS = 8
_CELLWISE = frozenset({"Relu", "Clip"})


def fold_shuffles(network: Network) -> int:
    """Put shuffles into the weights behind them; returns how many."""
    return sum(_fold(network, shuffle) for shuffle in shuffles(network))


def _fold(network: Network, shuffle: Shuffle) -> bool:
    between, convolution = _until_convolution(network, shuffle)
    weights = None if convolution is None else network.constant(convolution.input[1])
    if convolution is None or weights is None:
        return False
    for node in between:
        for position, name in list(enumerate(node.input))[1:]:
            value = network.constant(name)
            # The bounds of a Clip are for all channels.
            if value is not None and value.ndim:
                unshuffled = np.empty_like(value)
                unshuffled[shuffle.order] = value
                node.input[position] = network.add_constant(name, unshuffled)
    _read_shuffled(network, convolution, weights, shuffle)
    (between[0] if between else convolution).input[0] = shuffle.source
    network.replace(shuffle.nodes, [])
    return True


def _until_convolution(
    network: Network, shuffle: Shuffle
) -> tuple[list[onnx.NodeProto], onnx.NodeProto | None]:
    """What treats each channel of a shuffle alone, and the convolution behind that."""
    between: list[onnx.NodeProto] = []
    value = shuffle.result
    while (node := network.only_taker(value)) is not None and node.input[0] == value:
        if _mixes_few_groups(network, node):
            return between, node
        if not _is_channelwise(network, node, len(shuffle.order)):
            break
        between.append(node)
        value = node.output[0]
    return between, None


def _mixes_few_groups(network: Network, node: onnx.NodeProto) -> bool:
    if node.op_type != "Conv" or attribute(node, "group", 1) > _MOST_GROUPS:
        return False
    return is_pointwise(node, network.constant(node.input[1]))


def _is_channelwise(network: Network, node: onnx.NodeProto, channels: int) -> bool:
    """Whether each channel of the result is made from its own, with constants alone."""
    constants = [network.constant(name) for name in node.input[1:]]
    if len(node.output) > 1 or any(value is None for value in constants):
        return False
    if node.op_type in _CELLWISE:
        return True
    if any(value is None or len(value) != channels for value in constants):
        return False
    depthwise = node.op_type == "Conv" and attribute(node, "group", 1) == channels
    return depthwise or node.op_type == "BatchNormalization"


def _read_shuffled(
    network: Network, node: onnx.NodeProto, weights: Array, shuffle: Shuffle
) -> None:
    """Let a convolution read, as its channel ``i``, the channel ``order[i]``, in one group."""
    groups = int(attribute(node, "group", 1))
    outward, inward = len(weights) // groups, weights.shape[1]
    whole = np.zeros((len(weights), inward * groups, *weights.shape[2:]), weights.dtype)
    for group in range(groups):
        rows = slice(group * outward, (group + 1) * outward)
        columns = shuffle.order[group * inward : (group + 1) * inward]
        whole[rows, columns] = weights[rows]
    node.input[1] = network.add_constant(node.input[1], whole)
    set_attribute(node, "group", 1)
