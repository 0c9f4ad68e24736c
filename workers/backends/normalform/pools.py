"""Shrinks windows of pools that are larger than the image.

Exporters write a global pool as a window of some large size with ``ceil_mode``. Its only window
then ends outside of the image, which OpenVINO refuses::

    AveragePool [1, 96, 7, 7], kernel 96 x 96   ─▶   kernel 7 x 7
"""

import onnx

from workers.backends.rewrites.graph import EditableGraph, attribute, set_attribute

_POOLS = frozenset({"AveragePool", "MaxPool"})


def fit_pools(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with windows that are no larger than the padded image, where its size is known."""
    if not any(map(_rounds_up, model.graph.node)):
        return model
    graph = EditableGraph(model)
    for node in filter(_rounds_up, graph.nodes):
        _fit(graph, node)
    return graph.model()


def _rounds_up(node: onnx.NodeProto) -> bool:
    """Whether a node is a pool with ``ceil_mode``: others have no windows that leave the image."""
    return node.op_type in _POOLS and bool(attribute(node, "ceil_mode", 0))


def _fit(graph: EditableGraph, node: onnx.NodeProto) -> None:
    shape = graph.shape(node.input[0])
    kernel = attribute(node, "kernel_shape", ())
    if shape is None or attribute(node, "auto_pad", "NOTSET") != "NOTSET":
        return
    if set(attribute(node, "dilations", ())) - {1}:
        return
    pads = attribute(node, "pads", [0] * 2 * len(kernel))
    padded = [
        size + before + after if isinstance(size, int) else None
        for size, before, after in zip(
            shape[2:], pads[: len(kernel)], pads[len(kernel) :], strict=True
        )
    ]
    fitted = [
        size if most is None else min(size, most) for size, most in zip(kernel, padded, strict=True)
    ]
    if fitted != list(kernel):
        set_attribute(node, "kernel_shape", fitted)
