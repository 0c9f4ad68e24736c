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
from workers.backends.mixed.segments import cut, segment_model
from workers.backends.mixed.sensitivity import Sensitivity, sensitivities
from workers.backends.mixed.switches import SwitchableModel, rounded_weight

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
                {"float32": rng.exponential(1e-4), "bfloat16": rng.exponential(3e-5)},
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
    plans = [list(plan) for plan in product(PRECISIONS, repeat=len(layers))]
    fastest = min(plans, key=lambda plan: predicted_seconds(layers, plan))
    assert choose(layers, inf) == fastest
    assert choose(layers, predicted_error(layers, fastest)) == fastest
    assert choose(layers, 0.0) == ["float32"] * 7


def test_conversions_between_layers_cost_time() -> None:
    """A layer that is a little faster alone is not worth two conversions of large maps."""
    errors = {"float32": 0.0, "int8": 0.01}
    seconds = ({"float32": 2.0, "int8": 1.0}, {"float32": 1.0, "int8": 1.1})
    layers = [StudiedLayer((f"{n}",), errors, seconds[n % 2], {"float32": 0.2}) for n in range(3)]
    assert choose(layers, inf) == ["int8", "int8", "int8"]
    assert predicted_seconds(layers, ["int8", "float32", "int8"]) == pytest.approx(3.4)
    free = [StudiedLayer(each.names, each.errors, each.seconds) for each in layers]
    assert choose(free, inf) == ["int8", "float32", "int8"]


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
    groups = sensitivities(path, names, 28_000_000_000, rows)
    assert [each.nodes for each in groups] == [("m0", "m1"), ("m2", "m3"), ("m4", "m5")]
    alone = sensitivities(path, names, 1000, rows)
    for number, group in enumerate(groups):
        own = [each.error for each in alone[2 * number : 2 * number + 2]]
        assert group.error == pytest.approx(float(np.linalg.norm(own)), rel=0.5)


def residual(blocks: int) -> onnx.ModelProto:
    """Blocks ``x + (relu(x a) b)`` of layers ``a0``, ``b0``, ``a1`` ..., the later ones smaller."""
    rng = np.random.default_rng(3)
    nodes, constants, value = [], [], "x"
    for number in range(blocks):
        for kind in "ab":
            weight = rng.standard_normal((16, 16), np.float32) / (4 + number)
            constants.append(numpy_helper.from_array(weight, f"w{kind}{number}"))
        nodes += [
            helper.make_node("MatMul", [value, f"wa{number}"], [f"p{number}"], f"a{number}"),
            helper.make_node("Relu", [f"p{number}"], [f"r{number}"]),
            helper.make_node("MatMul", [f"r{number}", f"wb{number}"], [f"q{number}"], f"b{number}"),
            helper.make_node("Add", [value, f"q{number}"], [f"s{number}"]),
        ]
        value = f"s{number}"
    x, y = (helper.make_tensor_value_info(name, 1, ["N", 16]) for name in ("x", value))
    graph = helper.make_graph(nodes, "residual", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_segments_end_behind_blocks_and_compute_what_the_graph_computes() -> None:
    model = residual(6)
    layers = [at for at, node in enumerate(model.graph.node) if node.op_type == "MatMul"]
    segments = cut(model.graph, layers, 4)
    assert len(segments) == 4
    # Within a block two tensors cross.
    assert [segment.outputs for segment in segments[:-1]] == [
        (model.graph.node[segment.stop - 1].output[0],) for segment in segments[:-1]
    ]
    x = np.random.default_rng(0).standard_normal((3, 16), np.float32)
    values = {"x": x}
    for segment in segments:
        data = segment_model(model, segment, values).SerializeToString()
        part = ort.InferenceSession(data, providers=["CPUExecutionProvider"])
        feed = {name: values[name] for name in segment.inputs}
        values |= dict(zip(segment.outputs, part.run(segment.outputs, feed), strict=True))
    whole = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert np.allclose(values["s5"], whole.run(None, {"x": x})[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [1, 2, 5, 12])
def test_every_segment_has_layers(count: int) -> None:
    model = residual(6)
    layers = [at for at, node in enumerate(model.graph.node) if node.op_type == "MatMul"]
    segments = cut(model.graph, layers, count)
    assert 1 <= len(segments) <= count
    assert [segment.stop for segment in segments[:-1]] == [each.start for each in segments[1:]]
    assert (segments[0].start, segments[-1].stop) == (0, len(model.graph.node))
    for segment in segments:
        assert any(segment.start <= at < segment.stop for at in layers)


@pytest.mark.parametrize(("macs", "tolerance"), [(1000, 1.001), (5_400_000_000, 2.0)])
def test_errors_by_segments_are_those_of_the_whole_network(
    macs: int, tolerance: float, tmp_path: Path
) -> None:
    """Exactly so with a segment per layer, and approximately with segments of several layers."""
    x = np.random.default_rng(4).standard_normal((4, 16), np.float32)
    measured, ratios = ratios_to_whole_passes(residual(10), x, macs, tmp_path)
    assert [each.nodes for each in measured] == [(f"{k}{n}",) for n in range(10) for k in "ab"]
    assert np.median(ratios) == pytest.approx(1, rel=0.2)
    assert all(1 / tolerance < ratio < tolerance for ratio in ratios), ratios


def test_errors_pass_infinite_masks(tmp_path: Path) -> None:
    """Causal attention adds -inf to scores; the mask is made before the layers that read it."""
    rng = np.random.default_rng(5)
    weights = [rng.standard_normal((16, 16), np.float32) / 4 for _ in range(3)]
    mask = numpy_helper.from_array(np.triu(np.full((16, 16), -np.inf, np.float32), 1))
    nodes = [
        helper.make_node("Constant", [], ["mask"], value=mask),
        helper.make_node("MatMul", ["x", "w0"], ["p"], "m0"),
        helper.make_node("MatMul", ["p", "w1"], ["scores"], "m1"),
        helper.make_node("Add", ["scores", "mask"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["shares"]),
        helper.make_node("MatMul", ["shares", "w2"], ["y"], "m2"),
    ]
    constants = [numpy_helper.from_array(weight, f"w{i}") for i, weight in enumerate(weights)]
    x, y = (helper.make_tensor_value_info(name, 1, ["N", 16, 16]) for name in "xy")
    graph = helper.make_graph(nodes, "masked", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    rows = rng.standard_normal((4, 16, 16), np.float32)
    _, ratios = ratios_to_whole_passes(model, rows, 1000, tmp_path)
    assert ratios == pytest.approx([1, 1, 1], rel=1e-3)


def ratios_to_whole_passes(
    model: onnx.ModelProto, x: np.ndarray, macs: int, folder: Path
) -> tuple[list[Sensitivity], list[float]]:
    """Sensitivities of all products, and their errors over those of passes of the whole network."""
    path = folder / "model.onnx"
    onnx.save(model, path)
    at = {n.name: number for number, n in enumerate(model.graph.node) if n.op_type == "MatMul"}
    measured = sensitivities(path, list(at), macs, {"x": x})
    read = [model.graph.node[number].input[0] for number in at.values()]
    (last,) = (value.name for value in model.graph.output)
    watched = onnx.ModelProto.FromString(model.SerializeToString())
    watched.graph.output.extend(onnx.ValueInfoProto(name=name) for name in read if name != "x")
    session = ort.InferenceSession(watched.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_outputs()]
    values = {"x": x} | dict(zip(names, session.run(names, {"x": x}), strict=True))
    ranges = {name: (float(values[name].min()), float(values[name].max())) for name in read}
    switchable = SwitchableModel(model, [[number] for number in at.values()], ranges)
    ratios = []
    for number, each in enumerate(measured):
        error = np.subtract(switchable.run([last], {"x": x}, number)[0], values[last])
        error = (error - error.mean(axis=0)) * np.sqrt(4 / 3)
        ratios.append(each.error / float(np.linalg.norm(error) / np.linalg.norm(values[last])))
    return measured, ratios
