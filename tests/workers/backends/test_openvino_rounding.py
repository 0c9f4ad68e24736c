"""Weights of OpenVINO's layers are rounded for what each kind of layer takes."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.runtimes.openvino import compile_model, settings
from workers.backends.mixed.rounding import FLOAT_GRIDS
from workers.backends.openvino.convert import read_onnx
from workers.backends.openvino.layers import (
    ROUNDING,
    bypass,
    make_weights_constant,
    named_layers,
    replace_weights,
    weights,
)
from workers.backends.openvino.quantised import quantised
from workers.backends.openvino.rounding import input_rows, round_layers, weight_matrix
from workers.engine.ports import Array
from workers.engine.types import Network, Options
from workers.testing import networks

pytestmark = pytest.mark.slow

CHANNELS, SIZE, ROWS = 8, 9, 12
QUANTISATION: Options = {"preset": "mixed", "smoothing": False, "artefact": "onnx"}
#: Shape of the weights and attributes of convolutions; of the others the shape alone.
LAYERS: dict[str, tuple[str, tuple[int, ...], dict[str, Any]]] = {
    "padded": ("Conv", (16, CHANNELS, 3, 3), {"pads": [1, 0, 2, 1]}),
    "strided": ("Conv", (16, CHANNELS, 3, 2), {"strides": [2, 1]}),
    "dilated": ("Conv", (16, CHANNELS, 3, 3), {"dilations": [1, 2]}),
    "grouped": ("Conv", (16, CHANNELS // 2, 3, 3), {"group": 2}),
    "depthwise": ("Conv", (CHANNELS, 1, 3, 3), {"group": CHANNELS}),
    "product": ("MatMul", (SIZE, 16), {}),
    "dense": ("Gemm", (16, CHANNELS * SIZE * SIZE), {"transB": 1}),
}


def images(seed: int) -> Array:
    """Smooth images, so that neighbours are correlated."""
    noise = np.random.default_rng(seed).random((ROWS, CHANNELS, SIZE, SIZE), np.float32)
    return noise.cumsum(axis=2).cumsum(axis=3) / SIZE


def model(kind: str) -> onnx.ModelProto:
    operator, shape, facts = LAYERS[kind]
    weight = np.random.default_rng(0).standard_normal(shape, np.float32)
    source = ["x", "flat"][operator == "Gemm"]
    nodes = [helper.make_node("Flatten", ["x"], ["flat"])] if operator == "Gemm" else []
    nodes.append(helper.make_node(operator, [source, "w"], ["y"], "layer", **facts))
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", CHANNELS, SIZE, SIZE])
    y = onnx.ValueInfoProto(name="y")
    graph = helper.make_graph(nodes, "layer", [x], [y], [numpy_helper.from_array(weight, "w")])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return onnx.shape_inference.infer_shapes(made, strict_mode=True)


def outputs(network: Any, inputs: Array) -> Array:
    compiled = compile_model(network, settings({"precision": "float32", "threads": "one"}))
    return np.asarray(compiled(inputs)[0], np.float64)


def only_layer(network: Any) -> Any:
    (layer,) = named_layers(network).values()
    return layer


def values_of(network: Any) -> Array:
    """The weights of the only layer."""
    return np.array(weights(only_layer(network)).data)


def network_of(kind: str, tmp_path: Path) -> tuple[Network, Any, Any]:
    """The network of one layer, read in float32, and quantised."""
    network = networks.write(model(kind), tmp_path / "model")
    np.savez(tmp_path / "samples.npz", **{"inputs/x": images(0)})
    network = replace(network, samples_path=tmp_path / "samples.npz")
    exact = read_onnx(network)
    return network, exact, quantised(exact, network, QUANTISATION)[0]


@pytest.mark.parametrize("kind", LAYERS)
def test_each_kind_of_layer_errs_less_on_other_inputs(kind: str, tmp_path: Path) -> None:
    _, exact, integer = network_of(kind, tmp_path)
    # The rounding of what the layer takes; that of its weights stays.
    bypass(only_layer(integer).input(0))
    assert only_layer(integer).input_value(1).get_node().get_type_name() == ROUNDING
    others = images(1)
    expected = outputs(exact, others)
    floating = exact.clone()
    make_weights_constant(floating)
    replace_weights(only_layer(floating), FLOAT_GRIDS["bfloat16"](values_of(floating)))
    plain = [np.linalg.norm(outputs(each, others) - expected) for each in (floating, integer)]
    runs = [{"x": row[None]} for row in images(0)]
    rounded, names = round_layers(exact, integer, "bfloat16", runs)
    assert names == list(named_layers(exact))
    assert np.array_equal(FLOAT_GRIDS["bfloat16"](values_of(rounded)), values_of(rounded))
    fitted = [np.linalg.norm(outputs(each, others) - expected) for each in (rounded, integer)]
    assert fitted[0] < 0.75 * plain[0]
    assert fitted[1] < 0.75 * plain[1]


@pytest.mark.parametrize("kind", LAYERS)
def test_rows_times_weights_are_the_outputs(kind: str, tmp_path: Path) -> None:
    network = networks.write(model(kind), tmp_path / "model")
    exact = read_onnx(network)
    make_weights_constant(exact)
    layer, value = only_layer(exact), images(0)
    if kind == "dense":
        value = value.reshape(ROWS, -1)
    rows = input_rows(layer, value, 10**6, np.random.default_rng(0))
    products = rows @ weight_matrix(layer, values_of(exact)).swapaxes(-1, -2)
    expected = outputs(exact, images(0))
    # Outputs of convolutions are the second axis, of products the last one.
    channels = expected.reshape(-1, expected.shape[-1]).T
    if LAYERS[kind][0] == "Conv":
        channels = np.moveaxis(expected, 1, 0).reshape(expected.shape[1], -1)
    own = products.swapaxes(-1, -2).reshape(len(channels), -1)
    np.testing.assert_allclose(np.sort(own), np.sort(channels), rtol=1e-4, atol=1e-4)


def test_quantisation_leaves_handlers_of_the_log_alone(tmp_path: Path) -> None:
    handler = logging.NullHandler()
    logger = logging.getLogger("nncf")
    logger.addHandler(handler)
    try:
        network_of("dense", tmp_path)
    finally:
        logger.removeHandler(handler)
    assert handler.level == logging.NOTSET


def test_values_that_are_not_finite_leave_the_weights(tmp_path: Path) -> None:
    _, exact, integer = network_of("padded", tmp_path)
    before = values_of(integer)
    runs = [{"x": np.full_like(images(0), np.inf)}]
    rounded, names = round_layers(exact, integer, "bfloat16", runs)
    assert not names
    for each in (rounded, integer):
        assert np.array_equal(values_of(each), before)
