"""Local response normalisation (Krizhevsky et al. 2012, section 3.3) by operators with kernels.

ONNX Runtime raises each value to a power by itself, and takes longer than for all convolutions of
AlexNet together. The mean square of neighbouring channels is a pointwise convolution of squares,
and a power of 0.75 a product of roots::

    LRN   ─▶   x / (sqrt(s) * sqrt(sqrt(s))),   s = bias + alpha / size * conv(x * x)
"""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from workers.backends.rewrites.network import Network, attribute

#: The exponent that both papers with such networks use; others are left alone.
_BETA = 0.75


def write_out_normalisations(network: Network) -> int:
    """Write out every ``LRN`` of a known number of channels; returns how many."""
    return sum(_write_out(network, node) for node in list(network.nodes) if node.op_type == "LRN")


def _write_out(network: Network, node: onnx.NodeProto) -> bool:
    shape = network.shape(node.input[0])
    channels = shape[1] if shape and len(shape) == 4 else None
    if not isinstance(channels, int) or not np.isclose(attribute(node, "beta", _BETA), _BETA):
        return False
    source, result = node.input[0], node.output[0]
    weights = network.add_constant(result, _window(node, channels))
    bias = np.full(channels, attribute(node, "bias", 1.0), np.float32)
    square, mean, root, fourth, power = (network.fresh(result) for _ in range(5))
    steps = (
        ("Mul", [source, source], square),
        ("Conv", [square, weights, network.add_constant(result, bias)], mean),
        ("Sqrt", [mean], root),
        ("Sqrt", [root], fourth),
        ("Mul", [root, fourth], power),
        ("Div", [source, power], result),
    )
    nodes = [helper.make_node(kind, taken, [made], name=made) for kind, taken, made in steps]
    network.replace([node], nodes)
    return True


def _window(node: onnx.NodeProto, channels: int) -> npt.NDArray[np.float32]:
    """Weights ``[channels, channels, 1, 1]`` that sum each channel's neighbours, scaled."""
    size = attribute(node, "size", 1)
    distance = np.arange(channels)[None, :] - np.arange(channels)[:, None]
    near = (distance >= -((size - 1) // 2)) & (distance <= size // 2)
    scaled = np.where(near, attribute(node, "alpha", 1e-4) / size, 0.0).astype(np.float32)
    return scaled[:, :, None, None]
