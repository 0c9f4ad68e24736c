"""Decomposes local response normalisation (Krizhevsky et al. 2012, section 3.3).

ONNX Runtime's kernel raises values to a power one by one and takes longer than all convolutions of
AlexNet. The mean square of neighbouring channels is a pointwise convolution of squares, and a power
of 0.75 is a product of roots::

    LRN   ─▶   x / (sqrt(s) * sqrt(sqrt(s))),   s = bias + alpha / size * conv(x * x)
"""

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper

from workers.backends.rewrites.graph import EditableGraph, attribute

#: The exponent of AlexNet and GoogLeNet; nodes with others are not changed.
_BETA = 0.75


def write_out_normalisations(graph: EditableGraph) -> int:
    """Decompose each ``LRN`` with a known number of channels; returns their number."""
    return sum(_write_out(graph, node) for node in list(graph.nodes) if node.op_type == "LRN")


def _write_out(graph: EditableGraph, node: onnx.NodeProto) -> bool:
    shape = graph.shape(node.input[0])
    channels = shape[1] if shape and len(shape) == 4 else None
    if not isinstance(channels, int) or not np.isclose(attribute(node, "beta", _BETA), _BETA):
        return False
    source, result = node.input[0], node.output[0]
    weights = graph.add_constant(result, _window(node, channels))
    bias = np.full(channels, attribute(node, "bias", 1.0), np.float32)
    square, mean, root, fourth, power = (graph.fresh(result) for _ in range(5))
    steps = (
        ("Mul", [source, source], square),
        ("Conv", [square, weights, graph.add_constant(result, bias)], mean),
        ("Sqrt", [mean], root),
        ("Sqrt", [root], fourth),
        ("Mul", [root, fourth], power),
        ("Div", [source, power], result),
    )
    nodes = [helper.make_node(kind, inputs, [name], name=name) for kind, inputs, name in steps]
    graph.replace([node], nodes)
    return True


def _window(node: onnx.NodeProto, channels: int) -> npt.NDArray[np.float32]:
    """Weights ``[channels, channels, 1, 1]`` that sum and scale each channel's neighbours."""
    size = attribute(node, "size", 1)
    distance = np.arange(channels)[None, :] - np.arange(channels)[:, None]
    near = (distance >= -((size - 1) // 2)) & (distance <= size // 2)
    scaled = np.where(near, attribute(node, "alpha", 1e-4) / size, 0.0).astype(np.float32)
    return scaled[:, :, None, None]
