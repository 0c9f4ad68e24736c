"""Grouped convolutions are computed in int8 as others are."""

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from workers.backends.openvino.backend import OpenVinoBackend
from workers.engine.requests import TuningRequest
from workers.engine.testset import make_test_set
from workers.engine.types import Network, Options
from workers.testing import networks
from workers.testing.backend_contract import this_target
from workers.testing.builds import check_profile
from workers.testing.reused import ReusedChild, ReusedDevice

pytestmark = pytest.mark.slow

BACKEND = OpenVinoBackend()
#: Name, groups and window of convolutions with 32 channels, each before a rectifier.
LAYERS = (("plain", 1, 3), ("wide", 2, 3), ("point", 2, 1), ("narrow", 16, 3), ("each", 32, 3))


def grouped(folder: Path) -> Network:
    rng, nodes, weights, previous = np.random.default_rng(0), [], [], "x"
    for name, groups, window in LAYERS:
        shape = (32, 32 // groups, window, window)
        array = rng.standard_normal(shape, np.float32) * (shape[1] * window**2) ** -0.5
        weights.append(numpy_helper.from_array(array, f"{name}.w"))
        pads, inputs = [window // 2] * 4, [previous, f"{name}.w"]
        nodes += [
            helper.make_node("Conv", inputs, [f"{name}.c"], name, group=groups, pads=pads),
            helper.make_node("Relu", [f"{name}.c"], [name]),
        ]
        previous = name
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 32, 8, 8])
        for name in ("x", previous)
    ]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return networks.write(model, folder)


def test_grouped_convolutions_compute_in_int8(tmp_path: Path) -> None:
    network = grouped(tmp_path / "model")
    (tmp_path / "scratch").mkdir()
    request = TuningRequest(network, this_target(), (BACKEND.name,))
    target = this_target()
    int8: Options = {"precision": "int8", "preset": "mixed"}
    options = BACKEND.space(network, target).nearest(BACKEND.default(network, target) | int8)
    assert options is not None
    inputs = make_test_set(network, {}, 0).timing
    with (
        ReusedChild(tmp_path, request.limits) as child,
        ReusedDevice(request, {BACKEND.name: BACKEND}, tmp_path / "scratch", child) as device,
    ):
        found = device.build(BACKEND.name, options)
        assert found.outcome == "measured", found.detail
        profile = device.profile(BACKEND.name, found, inputs, tmp_path / "code")
    check_profile(profile, 2 * len(LAYERS), Path())
    computed: dict[str, set[str | None]] = {name: set() for name, *_ in LAYERS}
    for site in profile.call_sites:
        for link in site.nodes:
            if site.operator in {"Convolution", "GroupConvolution"}:
                computed[LAYERS[link.index // 2][0]].add(site.precision)
    assert computed == {name: {"int8"} for name, *_ in LAYERS}
