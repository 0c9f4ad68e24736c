"""Shapes of all tensors, by ONNX's shape inference with bounded memory.

Inference can also propagate the values of sizes that exported models compute (``Shape``,
``Gather``, ``Concat``, ``Reshape``). It allocates about 350 bytes per element of every list of
integers (onnx 1.23), even of lists that are only declared, so a model of 200 bytes could exhaust
the memory. A first pass without values therefore determines the lengths of the lists, and a second
pass propagates values only if they are short.
"""

import onnx
from onnx import TensorProto, shape_inference

from workers.inspection.skeleton import OnnxFailure
from workers.inspection.walk import graphs_of

#: Longest list of integers whose values are propagated: 20 MB.
MAX_LIST = 2**16
#: Largest size in such a model, because a size may become the length of a list.
MAX_SIZE = 2**22
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32})


def with_shapes(model: onnx.ModelProto, *, dynamic: int | None) -> onnx.ModelProto:
    """A copy of ``model`` with every shape that can be inferred.

    Args:
        dynamic: Size of every dynamic dimension of the inputs; ``None`` leaves them dynamic.
            Dimensions of the same name elsewhere get the same size; other dynamic ones are left to
            inference. Declared integers are kept, because the shapes of operators outside ONNX
            cannot be inferred.
    """
    inferred = onnx.ModelProto()
    inferred.CopyFrom(model)
    if dynamic is not None:
        _close(inferred.graph, dynamic)
    for values in (False, True):
        if values and not _is_small(inferred):
            break
        try:
            inferred = shape_inference.infer_shapes(inferred, data_prop=values)
        except (*OnnxFailure, MemoryError):
            # The shapes inferred so far are still valid.
            continue
    return inferred


def _is_small(model: onnx.ModelProto) -> bool:
    """Whether propagating values through ``model``, whose shapes are known, needs little memory."""
    for graph in graphs_of(model):
        for value in (*graph.input, *graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            sizes = [dim.dim_value for dim in tensor.shape.dim]
            most = MAX_LIST if len(sizes) == 1 and tensor.elem_type in _INTEGERS else MAX_SIZE
            if any(size > most for size in sizes):
                return False
    return True


def _close(graph: onnx.GraphProto, size: int) -> None:
    """Set dynamic dimensions of ``graph`` to ``size`` if they are those of the inputs."""
    dimensions = [dim for value in graph.input for dim in value.type.tensor_type.shape.dim]
    names = {dim.dim_param for dim in dimensions if dim.dim_param}
    for dim in dimensions:
        if dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
            dim.dim_value = size
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_value = size
            elif dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
                dim.Clear()
