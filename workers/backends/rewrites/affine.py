"""Scales and shifts behind a normalisation as part of it.

Networks from Caffe normalise in one layer and scale in another. Behind a convolution, runtimes fold
all of it; before one, as in DenseNet (Huang et al. 2017), ONNX Runtime leaves the shift behind and
with it the blocked layout::

    BatchNormalization ─ Mul [C, 1, 1] ─ Add [C, 1, 1]   ─▶   BatchNormalization
"""

import numpy as np
import onnx

from workers.backends.rewrites.network import Network
from workers.engine.ports import Array

#: Inputs of a normalisation.
_SCALE, _SHIFT = 1, 2


def fold_scales(network: Network) -> int:
    """Fold what scales and shifts channels into the normalisation before; returns how often."""
    found = [node for node in network.nodes if node.op_type == "BatchNormalization"]
    return sum(_fold(network, node) for node in found)


def _fold(network: Network, node: onnx.NodeProto) -> bool:
    if len(node.output) > 1:
        return False
    folded = False
    while (taker := network.only_taker(node.output[0])) is not None:
        value = _per_channel(network, taker, node.output[0])
        scale, shift = (network.constant(node.input[place]) for place in (_SCALE, _SHIFT))
        if value is None or scale is None or shift is None or value.size != scale.size:
            break
        if taker.op_type == "Mul":
            node.input[_SCALE] = network.add_constant(node.input[_SCALE], np.multiply(scale, value))
            node.input[_SHIFT] = network.add_constant(node.input[_SHIFT], np.multiply(shift, value))
        else:
            node.input[_SHIFT] = network.add_constant(node.input[_SHIFT], np.add(shift, value))
        node.output[0] = taker.output[0]
        network.replace([taker], [])
        folded = True
    return folded


def _per_channel(network: Network, taker: onnx.NodeProto, source: str) -> Array | None:
    """What a taker multiplies each channel of a picture with, or adds to it."""
    if taker.op_type not in {"Mul", "Add"} or list(taker.input).count(source) != 1:
        return None
    (other,) = (name for name in taker.input if name != source)
    value = network.constant(other)
    if value is None or value.dtype != np.float32:
        return None
    is_channels = value.shape[-2:] == (1, 1) and value.size == value.shape[-3:][0] > 1
    return value.ravel() if value.ndim in {3, 4} and is_channels else None
