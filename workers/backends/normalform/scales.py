"""Folds scales and shifts of channels into the convolution or normalisation before them.

Networks from Caffe normalise in one layer and scale in another::

    Conv ─ Mul [C, 1, 1] ─ Add [C, 1, 1]                 ─▶   Conv
    BatchNormalization ─ Mul [C, 1, 1] ─ Add [C, 1, 1]   ─▶   BatchNormalization

Runtimes fold them into convolutions when they open a file. Between a concatenation and a
convolution, as in DenseNet (Huang et al. 2017), ONNX Runtime keeps the shift and leaves the blocked
layout for it. OpenVINO loses what it was told about the precision of operators that it folds.
"""

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph
from workers.engine.ports import Array

#: Inputs of a convolution.
_WEIGHTS, _BIAS = 1, 2
#: Inputs of a normalisation.
_SCALE, _SHIFT = 1, 2
#: Rank of images.
_IMAGES = 4


def fold_scales(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without scales and shifts of channels behind convolutions and normalisations."""
    if not any(node.op_type in {"Mul", "Add"} for node in model.graph.node):
        return model
    graph = EditableGraph(model)
    is_changed = False
    for node in list(graph.nodes):
        if node.op_type in {"Conv", "BatchNormalization"} and len(node.output) == 1:
            while _fold(graph, node):
                is_changed = True
    return graph.model() if is_changed else model


def _fold(graph: EditableGraph, node: onnx.NodeProto) -> bool:
    """Fold the operator behind ``node``; whether it could be folded."""
    consumer = graph.only_consumer(node.output[0])
    weights = graph.constant(node.input[1])
    if consumer is None or weights is None or weights.dtype != np.float32:
        return False
    value = _per_channel(graph, consumer, node.output[0], len(weights))
    fold = _fold_into_convolution if node.op_type == "Conv" else _fold_into_normalisation
    if value is None or not fold(graph, node, consumer.op_type, value):
        return False
    node.output[0] = consumer.output[0]
    graph.replace([consumer], [])
    return True


def _fold_into_convolution(
    graph: EditableGraph, node: onnx.NodeProto, operator: str, value: Array
) -> bool:
    name = node.input[_BIAS] if len(node.input) > _BIAS else ""
    bias = graph.constant(name) if name else np.zeros(value.shape, np.float32)
    weights = graph.constant(node.input[_WEIGHTS])
    if bias is None or weights is None:
        return False
    if operator == "Mul":
        by_channel = value.reshape(-1, *(1 for _ in weights.shape[1:]))
        node.input[_WEIGHTS] = graph.add_constant(
            node.input[_WEIGHTS], np.multiply(weights, by_channel)
        )
    if name or operator == "Add":
        combine = np.multiply if operator == "Mul" else np.add
        changed = combine(bias, value)
        del node.input[_BIAS:]
        node.input.append(graph.add_constant(name or f"{node.input[_WEIGHTS]}/bias", changed))
    return True


def _fold_into_normalisation(
    graph: EditableGraph, node: onnx.NodeProto, operator: str, value: Array
) -> bool:
    scale, shift = (graph.constant(node.input[index]) for index in (_SCALE, _SHIFT))
    if scale is None or shift is None:
        return False
    if operator == "Mul":
        node.input[_SCALE] = graph.add_constant(node.input[_SCALE], np.multiply(scale, value))
    combine = np.multiply if operator == "Mul" else np.add
    node.input[_SHIFT] = graph.add_constant(node.input[_SHIFT], combine(shift, value))
    return True


def _per_channel(
    graph: EditableGraph, consumer: onnx.NodeProto, source: str, channels: int
) -> Array | None:
    """The factor or summand of each channel, ``float32[channels]``, if a node scales or shifts the
    channels of images."""
    if consumer.op_type not in {"Mul", "Add"} or list(consumer.input).count(source) != 1:
        return None
    (other,) = (name for name in consumer.input if name != source)
    value, shape = graph.constant(other), graph.shape(source)
    if value is None or value.dtype != np.float32 or shape is None or len(shape) != _IMAGES:
        return None
    is_channels = value.shape[-2:] == (1, 1) and value.size == value.shape[-3:][0] == channels
    return value.ravel() if value.ndim in {3, 4} and is_channels else None
