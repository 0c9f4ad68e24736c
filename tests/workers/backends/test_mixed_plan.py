"""The choice of precisions, against all plans; the errors of layers, against rounding by hand."""

from itertools import product
from math import inf
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from workers.backends.mixed.plan import StudiedLayer, choose, predicted_error, predicted_seconds
from workers.backends.mixed.sensitivity import rounded_weight, sensitivities

PRECISIONS = ("float32", "bfloat16", "int8")


def drawn_layers(count: int, seed: int) -> list[StudiedLayer]:
    rng = np.random.default_rng(seed)
    layers = []
    for number in range(count):
        error, seconds = rng.exponential(0.01), rng.exponential(1e-3)
        errors = (0.0, 0.2 * error, error)
        times = (seconds, seconds * rng.uniform(0.4, 1), seconds * rng.uniform(0.2, 1.1))
        layers.append(
            StudiedLayer(
                (str(number),),
                dict(zip(PRECISIONS, errors, strict=True)),
                dict(zip(PRECISIONS, times, strict=True)),
            )
        )
    return layers


@pytest.mark.parametrize("seed", range(5))
def test_a_plan_keeps_to_its_budget_and_is_nearly_the_fastest(seed: int) -> None:
    layers = drawn_layers(7, seed)
    slowest = predicted_seconds(layers, ["float32"] * len(layers))
    for budget in (0.002, 0.01, 0.03):
        plans = [list(plan) for plan in product(PRECISIONS, repeat=len(layers))]
        fastest = min(
            predicted_seconds(layers, plan)
            for plan in plans
            if predicted_error(layers, plan) <= budget
        )
        plan = choose(layers, budget)
        assert predicted_error(layers, plan) <= budget
        assert predicted_seconds(layers, plan) - fastest < 0.01 * slowest


def test_bounds_of_the_budget() -> None:
    layers = drawn_layers(7, 0)
    fastest = [min(layer.seconds, key=layer.seconds.__getitem__) for layer in layers]
    assert choose(layers, inf) == fastest
    assert choose(layers, 0.0) == ["float32"] * 7


def chain(weights: list[np.ndarray]) -> onnx.ModelProto:
    """Products with a ReLU between them: ``m0``, ``m1`` ..."""
    nodes, value = [], "x"
    for number in range(len(weights)):
        nodes.append(
            helper.make_node("MatMul", [value, f"w{number}"], [f"p{number}"], f"m{number}")
        )
        value = f"r{number}" if number + 1 < len(weights) else "y"
        kind = "Relu" if number + 1 < len(weights) else "Identity"
        nodes.append(helper.make_node(kind, [f"p{number}"], [value]))
    graph = helper.make_graph(
        nodes,
        "chain",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 16])],
        [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_the_error_of_a_layer_is_that_of_rounding_it_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    weights = [rng.standard_normal((16, 16), np.float32) for _ in range(3)]
    # A channel far larger than the others: rounded on a common scale, these would be lost.
    weights[0][:, 0] *= 100
    path = tmp_path / "model.onnx"
    onnx.save(chain(weights), path)
    rows = rng.standard_normal((4, 16), np.float32)
    measured = sensitivities(path, ["m0", "p1", "absent", "m2"], 1000, {"x": rows})
    assert [each.nodes for each in measured] == [("m0",), ("p1",), ("m2",)]
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    exact = session.run(None, {"x": rows})[0]
    last = exact_input(weights, rows)
    scale = (last.max() - min(last.min(), 0)) / 255
    output = np.round(last / scale) * scale @ rounded_weight(weights[2], 1)
    error = output - exact
    error = (error - error.mean(axis=0)) * np.sqrt(4 / 3)
    expected = np.linalg.norm(error) / np.linalg.norm(exact)
    assert measured[2].error == pytest.approx(expected, rel=0.02)
    assert all(1e-4 < each.error < 0.05 for each in measured)


def exact_input(weights: list[np.ndarray], rows: np.ndarray) -> np.ndarray:
    """The input of the last product."""
    return np.maximum(np.maximum(rows @ weights[0], 0) @ weights[1], 0)


def test_neighbours_are_grouped_where_single_runs_take_too_long(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    path = tmp_path / "model.onnx"
    onnx.save(chain([rng.standard_normal((16, 16), np.float32) for _ in range(6)]), path)
    names = [f"m{number}" for number in range(6)]
    rows = {"x": rng.standard_normal((2, 16), np.float32)}
    groups = sensitivities(path, names, 40_000_000_000, rows)
    assert [each.nodes for each in groups] == [("m0", "m1"), ("m2", "m3"), ("m4", "m5")]
    alone = sensitivities(path, names, 1000, rows)
    for number, group in enumerate(groups):
        own = [each.error for each in alone[2 * number : 2 * number + 2]]
        assert group.error == pytest.approx(float(np.linalg.norm(own)), rel=0.5)
