"""Networks for fixed sizes, before TVM imports them."""

import numpy as np
from onnx import helper, numpy_helper

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
