"""Unusual networks: a backend must compute each correctly or refuse it with a reason."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

from workers.engine.types import Network
from workers.testing import networks

_IR_VERSION = 8


def control_flow() -> onnx.ModelProto:
    """``float32[N,4] -> float32[N,4]``: a Loop that doubles three times, then an If by sign."""
    double = helper.make_graph(
        [
            helper.make_node("Identity", ["go_on"], ["still"]),
            helper.make_node("Add", ["state", "state"], ["twice"]),
        ],
        "double",
        [
            helper.make_tensor_value_info("turn", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            _tensor("state", "N", 4),
        ],
        [helper.make_tensor_value_info("still", TensorProto.BOOL, []), _tensor("twice", "N", 4)],
    )
    nodes = [
        helper.make_node("Loop", ["three", "yes", "x"], ["looped"], body=double),
        helper.make_node("ReduceSum", ["looped"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["positive"]),
        helper.make_node(
            "If", ["positive"], ["y"], then_branch=_branch("Relu"), else_branch=_branch("Neg")
        ),
    ]
    constants = {"three": np.array(3, np.int64), "yes": np.array(1, np.bool_),
                 "zero": np.array(0, np.float32)}  # fmt: skip
    return _model(nodes, ["N", 4], ["N", 4], constants)


def outer_product() -> onnx.ModelProto:
    """``float32[N,1] -> float32[N,N]``: small for few rows, terabytes for many."""
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "t"], ["y"]),
    ]
    return _model(nodes, ["N", 1], ["N", "N"], {})


def empty() -> onnx.ModelProto:
    """``float32[0,4] -> float32[0,3]``: a static batch size of 0."""
    weights = {"w": np.ones((4, 3), np.float32)}
    return _model([helper.make_node("MatMul", ["x", "w"], ["y"])], [0, 4], [0, 3], weights)


def of_nan() -> onnx.ModelProto:
    """``float32[N,4] -> float32[N,3]``: one weight is NaN."""
    weights = np.ones((4, 3), np.float32)
    weights[1, 2] = np.nan
    return _model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], ["N", 4], ["N", 3], {"w": weights}
    )


def of_strings() -> onnx.ModelProto:
    """``string[N] -> string[N]``."""
    ends = [helper.make_tensor_value_info(name, TensorProto.STRING, ["N"]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "strings", ends[:1], ends[1:]
    )
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)


def write_vast(folder: Path, size_bytes: int) -> Network:
    """A network with a sparse weights file of ``size_bytes``."""
    columns = size_bytes // (4 * 1024)
    weights = TensorProto(
        name="w",
        data_type=TensorProto.FLOAT,
        dims=[1024, columns],
        data_location=TensorProto.EXTERNAL,
    )
    weights.external_data.add(key="location", value="weights")
    model = _model([helper.make_node("MatMul", ["x", "w"], ["y"])], ["N", 1024], ["N", columns], {})
    model.graph.initializer.append(weights)
    network = networks.describe(model, folder / "model.onnx")
    folder.mkdir(parents=True)
    network.model_path.write_bytes(model.SerializeToString())
    with (folder / "weights").open("wb") as file:
        file.truncate(columns * 4 * 1024)
    return network


def _branch(operator: str) -> GraphProto:
    node = helper.make_node(operator, ["looped"], [f"{operator}ed"])
    return helper.make_graph([node], operator, [], [_tensor(f"{operator}ed", "N", 4)])


def _tensor(name: str, *shape: int | str) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _model(
    nodes: Sequence[NodeProto],
    takes: Sequence[int | str],
    gives: Sequence[int | str],
    constants: dict[str, np.ndarray],
) -> onnx.ModelProto:
    tensors = [numpy_helper.from_array(values, name) for name, values in constants.items()]
    graph = helper.make_graph(nodes, "odd", [_tensor("x", *takes)], [_tensor("y", *gives)], tensors)
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=imports, ir_version=_IR_VERSION)
