"""Convolutions that OpenVINO computes wrongly with AMX stay in float32."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.isolation.limits import Limits
from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.openvino.amx import faulty_convolutions, with_faulty_in_float32
from workers.backends.openvino.backend import OpenVinoBackend
from workers.engine.ports import Array
from workers.engine.requests import TuningRequest
from workers.engine.types import Options
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.reused import ReusedChild, ReusedDevice

pytestmark = pytest.mark.slow

BACKEND = OpenVinoBackend()
INPUTS = np.random.default_rng(3).standard_normal((2, 16, 32, 32), np.float32)
PRECISIONS: tuple[Options, ...] = (
    {"precision": "bfloat16"},
    {"precision": "int8", "preset": "mixed", "rest": "float32"},
)


def drawn(*shape: int) -> Array:
    deviation = np.sqrt(np.prod(shape[1:]))
    return (np.random.default_rng(sum(shape)).standard_normal(shape) / deviation).astype(np.float32)


def convolution(
    weights: tuple[int, ...], stride: int = 1, sizes: tuple[int, int] = (32, 32)
) -> Any:
    op = ov.opset13
    is_grouped = len(weights) == 5
    x = op.parameter([1, weights[-3] * (weights[0] if is_grouped else 1), *sizes], np.float32)
    make = op.group_convolution if is_grouped else op.convolution
    made = make(x, drawn(*weights), [stride] * 2, [0, 0], [0, 0], [1, 1], name="conv")
    return ov.Model([op.result(made)], [x], "one")


def shortened() -> onnx.ModelProto:
    """A convolution of patches between 3x3 ones, as SegFormer shortens its sequences."""
    weights = {
        "first": drawn(16, 16, 3, 3),
        "patches": drawn(16, 16, 8, 8),
        "last": drawn(64, 16, 3, 3),
    }
    same, patches = {"pads": [1, 1, 1, 1]}, {"strides": [8, 8]}
    nodes = [
        helper.make_node("Conv", ["x", "first"], ["a"], "first", **same),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Conv", ["b", "patches"], ["c"], "patches", **patches),
        helper.make_node("Relu", ["c"], ["d"], "again"),
        helper.make_node("Conv", ["d", "last"], ["y"], "last", **same),
    ]
    graph = helper.make_graph(
        nodes,
        "shortened",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16, 32, 32])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 64, 4, 4])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize(
    ("weights", "is_faulty"),
    [
        ((16, 16, 8, 8), True),
        ((16, 16, 1, 4), True),  # one row of a kernel decides
        ((24, 48, 4, 4), True),  # in int8
        ((4, 16, 12, 8, 8), True),  # 12 channels of each group
        ((16, 16, 3, 3), False),
        ((16, 64, 8, 8), False),
        ((64, 3, 16, 16), False),  # patches of an image
        ((32, 1, 1, 7, 7), False),  # depthwise
    ],
)
def test_the_rows_of_the_kernel_decide(
    weights: tuple[int, ...],
    is_faulty: bool,  # noqa: FBT001
) -> None:
    model = convolution(weights)
    assert faulty_convolutions(model) == (["conv"] if is_faulty else [])
    assert (with_faulty_in_float32(model) is model) == (not is_faulty)


def test_so_does_an_output_of_one_column() -> None:
    sizes: dict[str, tuple[int, tuple[int, int]]] = {
        "column": (2, (33, 4)),
        "without a stride": (1, (33, 3)),
        "two columns": (2, (33, 5)),
        "one value": (2, (4, 4)),
        "open height": (2, (-1, 4)),
    }
    models = {name: convolution((16, 64, 3, 3), *size) for name, size in sizes.items()}
    wrong = {name for name, model in models.items() if faulty_convolutions(model)}
    assert wrong == {"column", "open height"}


@pytest.mark.parametrize("options", PRECISIONS, ids=lambda options: str(options["precision"]))
def test_builds_of_lower_precision_compute_them_rightly(options: Options, tmp_path: Path) -> None:
    network = networks.write(shortened(), tmp_path / "model")
    target = this_target()
    default = BACKEND.default(network, target)
    changed = BACKEND.space(network, target).nearest(default | options)
    assert changed is not None
    request = TuningRequest(network, target, (BACKEND.name,))
    outputs = []
    with (
        ReusedChild(tmp_path, Limits()) as child,
        ReusedDevice(request, {BACKEND.name: BACKEND}, tmp_path, child) as device,
    ):
        for each in (default, changed):
            made = device.build(BACKEND.name, each)
            assert made.outcome == "measured", made.detail
            with closing(device.open(BACKEND.name, made, "candidate", {"x": INPUTS})) as session:
                outputs.append(session.run({"x": INPUTS})["y"])
    exact, computed = outputs
    assert np.linalg.norm(computed - exact) < 0.1 * np.linalg.norm(exact)
    assert made.provenance["precisions"].get("float32", 0) >= 1
