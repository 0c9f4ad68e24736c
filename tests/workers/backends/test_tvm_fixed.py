"""Networks for fixed sizes, before TVM imports them."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from workers.backends.tvm import fixed as fixing
from workers.backends.tvm.fixed import with_fixed_sizes
from workers.engine.types import TensorSpec


def test_sizes_that_equal_another_constant_are_computed_too() -> None:
    x = helper.make_tensor_value_info("x", 1, ["n", 4])
    one = numpy_helper.from_array(np.array([1], np.int64), "one")
    ones = numpy_helper.from_array(np.array([1, 1], np.int64), "ones")
    nodes = [
        helper.make_node("Shape", ["x"], ["size"], end=1),
        helper.make_node("Concat", ["size", "one"], ["sizes"], axis=0),
        helper.make_node("Expand", ["x", "ones"], ["a"]),
        helper.make_node("Tile", ["x", "sizes"], ["b"]),
    ]
    outputs = [helper.make_tensor_value_info(name, 1, None) for name in "ab"]
    graph = helper.make_graph(nodes, "tiled", [x], outputs, [one, ones])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    fixed = with_fixed_sizes(model, [TensorSpec("x", "float32", ("n", 4))], {"n": 1})
    assert [node.op_type for node in fixed.graph.node] == ["Expand", "Tile"]


def test_a_network_that_computes_nothing_ahead_is_not_optimised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(_: onnx.ModelProto) -> onnx.ModelProto:
        pytest.fail("the optimiser takes longer than TVM's import")

    monkeypatch.setattr(fixing, "fold_constants", never)
    x = helper.make_tensor_value_info("x", 1, ["n", 4])
    y = helper.make_tensor_value_info("y", 1, ["n", 4])
    two = numpy_helper.from_array(np.array(2, np.float32), "two")
    three = helper.make_node("Constant", [], ["three"], value_float=3.0)
    nodes = [
        three,
        helper.make_node("Clip", ["x", "", "two"], ["a"]),
        helper.make_node("Mul", ["a", "three"], ["y"]),
    ]
    model = helper.make_model(helper.make_graph(nodes, "clipped", [x], [y], [two]))
    fixed = with_fixed_sizes(model, [TensorSpec("x", "float32", ("n", 4))], {"n": 3})
    assert fixed.graph.node == model.graph.node
    dims = fixed.graph.input[0].type.tensor_type.shape.dim
    assert [dim.dim_value for dim in dims] == [3, 4]
