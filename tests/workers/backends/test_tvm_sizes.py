"""What a network computes from the sizes of its inputs, for any size."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.runtimes import registry
from hpcfair.runtimes.quiet_onnxruntime import ort
from tests.programs import needs
from workers.backends.tvm.backend import TvmBackend
from workers.engine.ports import Array
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = [needs("cc"), pytest.mark.slow]

#: Operator, inputs, output and attributes of each node.
Nodes = list[tuple[str, list[str], str, dict[str, Any]]]
_CONSTANTS = {
    "zero": np.array(0),
    "one": np.array(1),
    "first": np.array([0]),
    "second": np.array([1]),
    "third": np.array([2]),
    "any": np.array([-1]),
    "pads": np.array([0, 0, 1, 0, 0, 0]),
}
_NODES: Nodes = [
    ("Shape", ["x"], "sizes", {}),
    ("Gather", ["sizes", "second"], "lengths", {}),
    ("Squeeze", ["lengths"], "length", {}),
    ("Range", ["zero", "length", "one"], "positions", {}),
    ("Unsqueeze", ["positions", "second"], "column", {}),
    ("GreaterOrEqual", ["column", "positions"], "is_causal", {}),
    ("Cast", ["is_causal"], "mask", {"to": TensorProto.FLOAT}),
    # A size of -1 stands for that of the value: PyTorch's older exporter replaces it by 1.
    ("Concat", ["any", "lengths", "lengths"], "wanted", {"axis": 0}),
    ("Shape", ["wanted"], "dimensions", {}),
    ("ConstantOfShape", ["dimensions"], "ones", {"value": helper.make_tensor("", 7, [1], [1])}),
    ("Mul", ["ones", "any"], "all_any", {}),
    ("Equal", ["wanted", "all_any"], "is_any", {}),
    ("Where", ["is_any", "ones", "wanted"], "target", {}),
    ("Expand", ["mask", "target"], "masks", {}),
    ("Concat", ["second", "lengths"], "repeats", {"axis": 0}),
    ("Tile", ["x", "repeats"], "tiled", {}),
    ("Concat", ["any", "lengths", "lengths"], "square", {"axis": 0}),
    ("Reshape", ["tiled", "square"], "rows", {}),
    ("Mul", ["rows", "masks"], "products", {}),
    ("Mul", ["lengths", "positions"], "scaled", {}),
    ("Cast", ["scaled"], "offsets", {"to": TensorProto.FLOAT}),
    ("Add", ["products", "offsets"], "sums", {}),
    # Without the last column, and padded at its start.
    ("Slice", ["sums", "first", "any", "third"], "shorter", {}),
    ("Pad", ["shorter", "pads"], "y", {}),
]


def check(model: onnx.ModelProto, folder: Path, inputs: Sequence[Mapping[str, Array]]) -> None:
    """Build a network for any sizes and compare its outputs with ONNX Runtime's."""
    network = networks.write(model, folder / "model")
    backend, target, out = TvmBackend(), this_target(), folder / "build"
    out.mkdir()
    built = backend.build(network, target, backend.default(network, target), out)
    assert built.outcome == "measured", built.detail
    assert built.provenance["options"]["shapes"] == "open"
    published = ort.InferenceSession(network.model_path)
    with closing(
        registry.open(built.runtime, out / built.entry_point, built.runtime_options)
    ) as vm:
        for values in inputs:
            expected = published.run(None, dict(values))
            for (name, output), value in zip(vm.run(dict(values)).items(), expected, strict=True):
                np.testing.assert_array_equal(output, value, err_msg=name)


def model_of(
    nodes: Nodes,
    inputs: Sequence[onnx.ValueInfoProto],
    outputs: Sequence[onnx.ValueInfoProto],
    constants: Mapping[str, Array],
) -> onnx.ModelProto:
    made = [helper.make_node(op, names, [out], **each) for op, names, out, each in nodes]
    tensors = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(made, "sizes", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_what_is_computed_of_sizes_is_right_for_any_size(tmp_path: Path) -> None:
    shapes = {"x": ["N", "S"], "y": ["N", "S", "S"]}
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items())
    rng = np.random.default_rng(0)
    inputs = [
        {"x": rng.normal(size=shape).astype(np.float32)} for shape in ((1, 2), (2, 3), (3, 5))
    ]
    check(model_of(_NODES, [x], [y], _CONSTANTS), tmp_path, inputs)


_FLOAT, _INTEGER = TensorProto.FLOAT, TensorProto.INT64
_GATHERS: Nodes = [
    # Of known size: constant indices, and those of the input.
    ("Gather", ["x", "last"], "a", {"axis": 1}),
    ("Gather", ["x", "indices"], "b", {"axis": 1}),
    # Of unknown size.
    ("Gather", ["x", "first"], "c", {"axis": 0}),
    ("Gather", ["x", "last"], "d", {"axis": 0}),
    # A table.
    ("Gather", ["table", "indices"], "e", {"axis": 0}),
]


def test_negative_indices_are_counted_from_the_end(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", _FLOAT, ["N", 4])
    indices = helper.make_tensor_value_info("indices", _INTEGER, ["K"])
    outputs = [helper.make_tensor_value_info(name, _FLOAT, None) for name in "abcde"]
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    constants = {"last": np.array([-1, 0]), "first": np.array([0]), "table": table}
    rng = np.random.default_rng(0)
    inputs: list[dict[str, Array]] = [
        {
            "x": rng.normal(size=(n, 4)).astype(np.float32),
            "indices": rng.integers(-4, 4, size=3 * n),
        }
        for n in (1, 3)
    ]
    check(model_of(_GATHERS, [x, indices], outputs, constants), tmp_path, inputs)


_FIRST_ROWS: Nodes = [
    ("Shape", ["y"], "sizes", {}),
    ("Gather", ["sizes", "zero"], "count", {}),
    ("Range", ["zero", "count", "one"], "positions", {}),
    ("Unsqueeze", ["positions", "second"], "places", {}),
    # Negative places are counted from the end, so that the sizes of x are added to them.
    ("GatherND", ["x", "places"], "z", {}),
]


def test_sizes_are_added_to_positions_of_another_size(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", _FLOAT, ["K", "S"])
    y = helper.make_tensor_value_info("y", _FLOAT, ["N"])
    z = helper.make_tensor_value_info("z", _FLOAT, ["N", "S"])
    rng = np.random.default_rng(0)
    inputs = [
        {
            "x": rng.normal(size=(rows, 3)).astype(np.float32),
            "y": np.zeros(count, dtype=np.float32),
        }
        for rows, count in ((4, 2), (2, 2), (1, 1))
    ]
    check(model_of(_FIRST_ROWS, [x, y], [z], _CONSTANTS), tmp_path, inputs)
