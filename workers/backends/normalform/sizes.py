"""Replaces computed sizes that are known by constants.

With a dynamic batch, exporters read all sizes of a value from its shape, and ONNX Script's
optimiser takes the whole shape for unknown. What is computed from such a size is unknown, too::

    Shape [batch, 24, 48, 48] ─ Gather 2   ─▶   48
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from workers.backends.rewrites.graph import EditableGraph
from workers.engine.ports import Array

_READERS = frozenset({"Gather", "Slice"})


def use_known_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with constants for sizes that do not depend on an input; the same model if it reads
    no such size."""
    if not any(node.op_type == "Shape" for node in model.graph.node):
        return model
    graph = EditableGraph(model)
    reads = [(node, sizes) for node in graph.nodes if (sizes := _sizes(graph, node)) is not None]
    for node, sizes in reads:
        value = helper.make_attribute("value", numpy_helper.from_array(sizes))
        # In place: the value keeps its name.
        node.op_type = "Constant"
        del node.input[:], node.attribute[:]
        node.attribute.append(value)
    return graph.model() if reads else model


def _sizes(graph: EditableGraph, node: onnx.NodeProto) -> Array | None:
    """The sizes that a node reads from a shape; ``None`` if it reads none or an unknown one."""
    shape = graph.producers.get(node.input[0]) if node.op_type in _READERS else None
    if shape is None or shape.op_type != "Shape" or shape.attribute:
        return None
    sizes = graph.shape(shape.input[0])
    operands = [graph.constant(name) for name in node.input[1:]]
    if sizes is None or any(operand is None for operand in operands):
        return None
    try:
        read = _read(node, np.array(sizes, dtype=object), operands)
    except (IndexError, ValueError):
        return None
    is_known = all(isinstance(size, int) for size in np.ravel(read))
    return np.asarray(read, dtype=np.int64) if is_known else None


def _read(node: onnx.NodeProto, sizes: Array, operands: list[Array | None]) -> Array:
    """What ``Gather`` or ``Slice`` reads. Raises IndexError or ValueError for invalid operands."""
    if node.op_type == "Gather":
        (indices,) = operands
        return np.asarray(sizes[indices], dtype=object)
    starts, ends, *rest = (np.ravel(operand).tolist() for operand in operands)  # type: ignore[arg-type]
    steps = rest[1] if len(rest) > 1 else [1]
    (start,), (end,), (step,) = starts, ends, steps
    return np.asarray(sizes[start:end:step], dtype=object)
