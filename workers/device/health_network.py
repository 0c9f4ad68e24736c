"""The network of a health check as ONNX. Imported in child processes only."""

from pathlib import Path
from typing import Final

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from hpcfair.healthcheck import health_check

# The oldest versions that every runtime reads.
_OPSET: Final = 13
_IR_VERSION: Final = 7


def write(path: str, seed: int) -> None:
    """Write ``relu(x @ w1) @ w2`` of a health check, with the input ``x`` and the output ``y``."""
    check = health_check(seed)
    x, w1, w2 = (np.asarray(each, np.float32) for each in (check.x, check.w1, check.w2))
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("MatMul", ["active", "w2"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "health",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, (len(x), w2.shape[1]))],
        [numpy_helper.from_array(w1, "w1"), numpy_helper.from_array(w2, "w2")],
    )
    opset = helper.make_opsetid("", _OPSET)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION)
    onnx.checker.check_model(model)
    Path(path).write_bytes(model.SerializeToString())
