"""Networks of one convolution, rewritten to have fewer multiplications, and their outputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

from workers.backends.rewrites.convolutions import reduce_multiplications
from workers.backends.rewrites.graph import EditableGraph

Floats = npt.NDArray[np.floating[Any]]
RNG = np.random.default_rng(0)
#: More bytes than the weights of a test grow by.
PLENTY = 10**9


def convolution(
    channels: tuple[int, int],
    kernel: Sequence[int],
    sizes: Sequence[int | str],
    *,
    bias: bool = True,
    opset: int = 17,
    dtype: type = np.float32,
    **attributes: Any,
) -> onnx.ModelProto:
    """A convolution of ``x``, ``[N, channels, *sizes]``, and an activation."""
    inputs, outputs = channels
    shape = (outputs, inputs // attributes.get("group", 1), *kernel)
    weights = (RNG.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(dtype)
    arrays = {"w": weights}
    arrays |= {"b": RNG.standard_normal(outputs).astype(dtype)} if bias else {}
    nodes = [
        helper.make_node("Conv", ["x", *arrays], ["c"], "c", **attributes),
        helper.make_node("Relu", ["c"], ["y"]),
    ]
    kind = TensorProto.FLOAT if dtype is np.float32 else TensorProto.DOUBLE
    graph = helper.make_graph(
        nodes,
        "convolved",
        [helper.make_tensor_value_info("x", kind, ["N", inputs, *sizes])],
        [helper.make_tensor_value_info("y", kind, None)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def rewritten(
    model: onnx.ModelProto, algorithm: str, most_bytes: int = PLENTY
) -> tuple[int, onnx.ModelProto]:
    """The number of convolutions rewritten by an algorithm, and the network after."""
    graph = EditableGraph(model)
    count = reduce_multiplications(graph, most_bytes).get(algorithm, 0)
    after = graph.model()
    onnx.checker.check_model(after, full_check=True)
    return count, after


def run(model: onnx.ModelProto, x: Floats) -> Floats:
    """The output ``y``."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    result: Floats = session.run(None, {"x": x})[0]
    return result
