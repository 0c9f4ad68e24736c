"""The stem of a network: what it does to a picture before its channels are many.

A convolution of three colours fills a fifth of what ONNX Runtime's 8-bit kernels multiply at once,
and takes longer than in float32 (MobileNetV2, AVX512-VNNI: 1.00 against 0.63 ms).

Not where a pooling follows: ONNX Runtime quantises before it rather than behind, and outside its
8-bit layout pools bytes ten times slower than numbers (SqueezeNet: 19 ms).
"""

from collections import defaultdict
from pathlib import Path

import onnx

#: Channels that a kernel multiplies at once.
_FULL = 16
_ACTIVATIONS = frozenset({"Relu", "Clip", "LeakyRelu"})
_POOLS = frozenset({"MaxPool", "AveragePool"})
_HEAVY = frozenset({"Conv", "ConvTranspose", "Gemm", "MatMul"})


def floating_nodes(path: Path) -> list[str]:
    """Names of the nodes to be left in float32: the stem, unless nothing heavy would remain.

    Nodes without a name are given one, in the file.
    """
    model = onnx.load(path)
    for number, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}/{number}"
    takers = defaultdict(list)
    for node in model.graph.node:
        for name in node.input:
            takers[name].append(node)
    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    found: list[onnx.NodeProto] = []
    for value in model.graph.input:
        for node in takers[value.name]:
            kernel = weights.get(node.input[1]) if node.op_type == "Conv" else None
            if kernel is not None and kernel.dims[1] < _FULL:
                found += _with_following(node, takers)
    names = {node.name for node in found}
    if all(node.name in names for node in model.graph.node if node.op_type in _HEAVY):
        return []
    onnx.save(model, path)
    return sorted(names)


def _with_following(
    node: onnx.NodeProto, takers: dict[str, list[onnx.NodeProto]]
) -> list[onnx.NodeProto]:
    """A convolution and its activation; nothing if it is pooled."""
    found = [node]
    while len(after := takers[found[-1].output[0]]) == 1 and after[0].op_type in _ACTIVATIONS:
        found.append(after[0])
    return [] if any(taker.op_type in _POOLS for taker in after) else found
