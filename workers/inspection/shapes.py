"""Shapes of all tensors, by ONNX's own inference, kept from running away.

Inference can also propagate values: it follows the sizes that exported models compute from other
sizes (``Shape``, ``Gather``, ``Concat``, ``Reshape``). For that it holds one object per element of
every list of integers, at about 350 bytes each (onnx 1.23), also of lists that no file holds but
only claims: 200 bytes of model then take all the memory there is. So a first pass without values
tells how long the lists are, and only where they are short a second one follows values.
"""

import onnx
from onnx import TensorProto, shape_inference

from workers.inspection.skeleton import OnnxFailure
from workers.inspection.walk import graphs_of

#: Longest list of integers whose values are followed: 20 MB.
MAX_LIST = 2**16
#: Largest size in such a model, since a size may become the length of a list.
MAX_SIZE = 2**22
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32})


def with_shapes(model: onnx.ModelProto, *, dynamic: int | None) -> onnx.ModelProto:
    """A copy of ``model`` with every shape that inference can tell.

    Args:
        dynamic: Size to put in place of every open dimension of the inputs; ``None`` leaves them
            open. Elsewhere a dimension of the same name gets that size too, and any other open one
            is left to inference; declared integers stand, since of operators that are not ONNX's
            own nothing else is known.
    """
    known = onnx.ModelProto()
    known.CopyFrom(model)
    if dynamic is not None:
        _close(known.graph, dynamic)
    for values in (False, True):
        if values and not _is_small(known):
            break
        try:
            known = shape_inference.infer_shapes(known, data_prop=values)
        except (*OnnxFailure, MemoryError):
            # What is known so far is still right.
            continue
    return known


def _is_small(model: onnx.ModelProto) -> bool:
    """Whether following values through ``model``, whose shapes are known, takes little memory."""
    for graph in graphs_of(model):
        for value in (*graph.input, *graph.value_info, *graph.output):
            tensor = value.type.tensor_type
            sizes = [dim.dim_value for dim in tensor.shape.dim]
            most = MAX_LIST if len(sizes) == 1 and tensor.elem_type in _INTEGERS else MAX_SIZE
            if any(size > most for size in sizes):
                return False
    return True


def _close(graph: onnx.GraphProto, size: int) -> None:
    """Give open dimensions of ``graph`` the given size, where that is what they would have."""
    given = [dim for value in graph.input for dim in value.type.tensor_type.shape.dim]
    names = {dim.dim_param for dim in given if dim.dim_param}
    for dim in given:
        if dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
            dim.dim_value = size
    for value in (*graph.value_info, *graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param in names:
                dim.dim_value = size
            elif dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
                dim.Clear()
