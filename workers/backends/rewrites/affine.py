"""Folds scales and shifts of channels into the preceding normalisation.

Networks from Caffe normalise in one layer and scale in another. Runtimes fold both into a preceding
convolution; before a convolution, as in DenseNet (Huang et al. 2017), ONNX Runtime keeps the shift
and leaves the blocked layout for it::

    BatchNormalization ─ Mul [C, 1, 1] ─ Add [C, 1, 1]   ─▶   BatchNormalization
"""

import numpy as np
import onnx

from workers.backends.rewrites.graph import EditableGraph
from workers.engine.ports import Array

#: Inputs of a normalisation.
_SCALE, _SHIFT = 1, 2


def fold_scales(graph: EditableGraph) -> int:
    """Fold all scales and shifts behind normalisations; returns the number of normalisations."""
    normalisations = [node for node in graph.nodes if node.op_type == "BatchNormalization"]
    return sum(_fold(graph, node) for node in normalisations)


def _fold(graph: EditableGraph, node: onnx.NodeProto) -> bool:
    if len(node.output) > 1:
        return False
    folded = False
    while (consumer := graph.only_consumer(node.output[0])) is not None:
        value = _per_channel(graph, consumer, node.output[0])
        scale, shift = (graph.constant(node.input[index]) for index in (_SCALE, _SHIFT))
        if value is None or scale is None or shift is None or value.size != scale.size:
            break
        if consumer.op_type == "Mul":
            node.input[_SCALE] = graph.add_constant(node.input[_SCALE], np.multiply(scale, value))
            node.input[_SHIFT] = graph.add_constant(node.input[_SHIFT], np.multiply(shift, value))
        else:
            node.input[_SHIFT] = graph.add_constant(node.input[_SHIFT], np.add(shift, value))
        node.output[0] = consumer.output[0]
        graph.replace([consumer], [])
        folded = True
    return folded


def _per_channel(graph: EditableGraph, consumer: onnx.NodeProto, source: str) -> Array | None:
    """The factor or summand of each channel, if a node scales or shifts channels of an image."""
    if consumer.op_type not in {"Mul", "Add"} or list(consumer.input).count(source) != 1:
        return None
    (other,) = (name for name in consumer.input if name != source)
    value = graph.constant(other)
    if value is None or value.dtype != np.float32:
        return None
    is_channels = value.shape[-2:] == (1, 1) and value.size == value.shape[-3:][0] > 1
    return value.ravel() if value.ndim in {3, 4} and is_channels else None
