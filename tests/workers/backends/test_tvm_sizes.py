"""What a network computes from the sizes of its inputs, for any size."""

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.runtimes import registry
from hpcfair.runtimes.quiet_onnxruntime import ort
from tests.programs import needs
from workers.backends.tvm.backend import TvmBackend
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = [needs("cc"), pytest.mark.slow]

_CONSTANTS = {
    "zero": np.array(0),
    "one": np.array(1),
    "first": np.array([0]),
    "second": np.array([1]),
    "third": np.array([2]),
    "any": np.array([-1]),
    "pads": np.array([0, 0, 1, 0, 0, 0]),
}
_NODES = [
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


def test_what_is_computed_of_sizes_is_right_for_any_size(tmp_path: Path) -> None:
    shapes = {"x": ["N", "S"], "y": ["N", "S", "S"]}
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in shapes.items())
    nodes = [helper.make_node(op, names, [out], **each) for op, names, out, each in _NODES]
    constants = [numpy_helper.from_array(value, name) for name, value in _CONSTANTS.items()]
    graph = helper.make_graph(nodes, "masks", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    network = networks.write(model, tmp_path / "model")
    backend, target, out = TvmBackend(), this_target(), tmp_path / "build"
    out.mkdir()
    built = backend.build(network, target, backend.default(network, target), out)
    assert built.outcome == "measured", built.detail
    assert built.provenance["options"]["shapes"] == "open"
    published = ort.InferenceSession(network.model_path)
    with closing(
        registry.open(built.runtime, out / built.entry_point, built.runtime_options)
    ) as vm:
        for shape in ((1, 2), (2, 3), (3, 5)):
            value = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            (expected,) = published.run(None, {"x": value})
            np.testing.assert_array_equal(vm.run({"x": value})["y"], expected)
