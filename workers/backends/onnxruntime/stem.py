"""The stem of a network: the first convolution of an image with few channels, and its activation.

A convolution of three channels uses a fifth of the width of ONNX Runtime's int8 kernels, and takes
longer than in float32 (MobileNetV2, AVX512-VNNI: 1.00 ms instead of 0.63 ms).

A stem before a pooling does not count: ONNX Runtime would quantise before the pooling, and its int8
pooling outside blocked layouts is ten times slower than float32 (SqueezeNet: 19 ms).
"""

from collections import defaultdict
from pathlib import Path

import onnx

#: Channels that a kernel multiplies at a time.
_FULL = 16
_ACTIVATIONS = frozenset({"Relu", "Clip", "LeakyRelu"})
_POOLS = frozenset({"MaxPool", "AveragePool"})
_HEAVY = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


def float_nodes(path: Path) -> list[str]:
    """Names of the nodes to keep in float32: the stem, unless no heavy operator would remain. Nodes
    without a name get one, in the file."""
    model = onnx.load(path)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}/{number}"
    consumers = defaultdict(list)
    for node in model.graph.node:
        for name in node.input:
            consumers[name].append(node)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    stem: list[onnx.NodeProto] = []
    for value in model.graph.input:
        for node in consumers[value.name]:
            kernel = weights.get(node.input[1]) if node.op_type == "Conv" else None
            if kernel is not None and kernel.dims[1] < _FULL:
                stem += _with_activation(node, consumers)
    names = {node.name for node in stem}
    if all(node.name in names for node in model.graph.node if node.op_type in _HEAVY):
        return []
    onnx.save(model, path)
    return sorted(names)


def _with_activation(
    node: onnx.NodeProto, consumers: dict[str, list[onnx.NodeProto]]
) -> list[onnx.NodeProto]:
    """A convolution and its activations; nothing if a pooling follows."""
    nodes = [node]
    while len(after := consumers[nodes[-1].output[0]]) == 1 and after[0].op_type in _ACTIVATIONS:
        nodes.append(after[0])
    return [] if any(consumer.op_type in _POOLS for consumer in after) else nodes
