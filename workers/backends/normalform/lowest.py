"""Replaces the lowest float32 by the lowest bfloat16, which is a float32 as well.

Exporters fill masks of attention with the lowest number. It rounds to minus infinity in bfloat16,
and the softmax of a row of these is NaN.
"""

import numpy as np
import onnx
from onnx import numpy_helper

_LOWEST = np.finfo(np.float32).min
#: Of bfloat16: the same exponent with seven bits of fraction.
_LOWEST_BFLOAT16 = np.float32(-(2 - 2**-7) * 2.0**127)


def raise_lowest(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the lowest float32 among its constants."""
    lowest = [index for index, tensor in enumerate(model.graph.initializer) if count_lowest(tensor)]
    if not lowest:
        return model
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for index in lowest:
        tensor = copy.graph.initializer[index]
        values = numpy_helper.to_array(tensor)
        raised = np.where(values == _LOWEST, _LOWEST_BFLOAT16, values)
        tensor.CopyFrom(numpy_helper.from_array(raised, tensor.name))
    return copy


def count_lowest(tensor: onnx.TensorProto) -> int:
    """Number of elements of a constant that are the lowest float32."""
    if tensor.data_type != onnx.TensorProto.FLOAT:
        return 0
    return int(np.count_nonzero(numpy_helper.to_array(tensor) == _LOWEST))
