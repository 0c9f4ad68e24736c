"""Biases behind a network's last layers make up for what a lower precision adds to all outputs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.runtimes.openvino import OpenVino
from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.openvino.bias import correct_biases, expected_error
from workers.backends.openvino.convert import read_onnx, save
from workers.backends.openvino.observation import (
    Observation,
    read_observations,
    write_observations,
)
from workers.engine.calibration import fitting_inputs
from workers.engine.ports import Array
from workers.engine.random_inputs import random_inputs
from workers.engine.samples import MOST_ROWS, evaluation_samples
from workers.engine.testset import EXTRA_MACS
from workers.engine.types import Network, Options
from workers.testing import networks

pytestmark = pytest.mark.slow

PLAIN: Options = {"precision": "float32", "threads": "one"}
#: Of float32's 23 bits; more than bfloat16 drops, so that little is left to chance.
DROPPED = 19
SEED = 7
#: What stands at the end of a network, by name.
Ends = Mapping[str, tuple[int, ...]]


def network(nodes: list[onnx.NodeProto], ends: Ends, **weights: Array) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 8, 6, 6])],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", *s]) for n, s in ends.items()],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def drawn(*shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    return rng.standard_normal(shape, np.float32) / np.sqrt(np.prod(shape[1:]), dtype=np.float32)


def conv(source: str, out: str, bias: str = "") -> list[onnx.NodeProto]:
    inputs = [source, f"{out}.w", *filter(None, [bias])]
    return [helper.make_node("Conv", inputs, [out], out, pads=[1] * 4)]


def relu(source: str, out: str) -> list[onnx.NodeProto]:
    return [helper.make_node("Relu", [source], [out], out)]


def classifier() -> onnx.ModelProto:
    """Two convolutions, and scores of an output that is the last layer's own."""
    nodes = [
        *conv("x", "a"), *relu("a", "b"), *conv("b", "c"), *relu("c", "d"),
        helper.make_node("Flatten", ["d"], ["e"], "e"),
        helper.make_node("MatMul", ["e", "y.w"], ["y"], "y"),
    ]  # fmt: skip
    weights = {"a.w": drawn(8, 8, 3, 3), "c.w": drawn(8, 8, 3, 3), "y.w": drawn(10, 288).T}
    return network(nodes, {"y": (10,)}, **weights)


def detector() -> onnx.ModelProto:
    """Two heads, one with a bias."""
    nodes = [*conv("x", "a"), *relu("a", "b"), *conv("b", "y"), *conv("b", "z", bias="z.b")]
    weights = {f"{name}.w": drawn(8, 8, 3, 3) for name in "ayz"}
    return network(nodes, dict.fromkeys("yz", (8, 6, 6)), **weights, **{"z.b": drawn(8)})


def residual() -> onnx.ModelProto:
    """What goes around the last layer does not make the one before it a last one."""
    nodes = [
        *conv("x", "a"), *relu("a", "b"), *conv("b", "c"),
        helper.make_node("Add", ["b", "c"], ["y"], "y"),
    ]  # fmt: skip
    weights = {name: drawn(8, 8, 3, 3) for name in ("a.w", "c.w")}
    return network(nodes, {"y": (8, 6, 6)}, **weights)


def rounded(model: Any) -> Any:
    """A copy with weights of few bits, rounded down: a low precision that every processor has."""
    low = model.clone()
    for node in low.get_ordered_ops():
        if node.get_type_name() not in {"Convolution", "MatMul"}:
            continue
        source = node.input_value(1).get_node()
        if source.get_type_name() == "Constant":
            bits = np.ascontiguousarray(source.data).view(np.uint32) >> DROPPED << DROPPED
            node.input(1).replace_source_output(
                ov.opset13.constant(bits.view(np.float32)).output(0)
            )
    return low


def answers(model: Any, inputs: Mapping[str, Array], folder: Path) -> dict[str, Array]:
    """Of the network as its users open it."""
    save(model, folder / "model.xml")
    runtime = OpenVino(folder / "model.xml", PLAIN)
    try:
        return runtime.run(inputs)
    finally:
        runtime.close()


def gap(wanted: Mapping[str, Array], found: Mapping[str, Array]) -> float:
    assert wanted.keys() == found.keys()
    return max(
        float(np.linalg.norm(found[name] - value) / np.linalg.norm(value))
        for name, value in wanted.items()
    )


def test_all_outputs_come_nearer_on_other_inputs(tmp_path: Path) -> None:
    for number, make in enumerate((classifier, detector, residual)):
        folder = tmp_path / str(number)
        network = networks.write(make(), folder)
        exact = read_onnx(network)
        low = rounded(exact)
        corrected, facts = correct_biases(low, exact, network, PLAIN)
        before, after = facts["bias_correction"]["relative_l2"]
        assert after < before
        expected = expected_error(low, exact, network, PLAIN)
        assert expected == pytest.approx(after, rel=0.5), make.__name__
        unseen = random_inputs(network, SEED, {"N": 3})
        wanted = answers(exact, unseen, folder)
        least = 0.95 * gap(wanted, answers(low, unseen, folder))
        assert gap(wanted, answers(corrected, unseen, folder)) < least, make.__name__


def test_where_the_mean_error_is_chance_none_is_expected_to_be_corrected(tmp_path: Path) -> None:
    """Errors of one layer, for inputs around zero: the mean of few rows would add to them."""
    model = network(conv("x", "y"), {"y": (8, 6, 6)}, **{"y.w": drawn(8, 8, 3, 3)})
    rows = np.random.default_rng(SEED).standard_normal((16, 8, 6, 6), np.float32)
    np.savez(tmp_path / "samples.npz", **{"inputs/x": rows})
    written = networks.write(model, tmp_path / "model")
    written = replace(written, samples_path=tmp_path / "samples.npz")
    exact = read_onnx(written)
    low = rounded(exact)
    fitting = fitting_inputs(written)
    used = {"x": np.concatenate([case["x"] for case in (*fitting.fit, *fitting.check)])}
    assert fitting.source == "samples"
    assert 1 < len(used["x"]) < len(rows)
    plain = gap(answers(exact, used, tmp_path), answers(low, used, tmp_path))
    assert expected_error(low, exact, written, PLAIN) == pytest.approx(plain, rel=1e-3)


def test_only_the_last_layers_are_changed(tmp_path: Path) -> None:
    network = networks.write(residual(), tmp_path / "model")
    exact = read_onnx(network)
    corrected, _ = correct_biases(rounded(exact), exact, network, PLAIN)
    added = [
        node.input_value(0).get_node().friendly_name
        for node in corrected.get_ordered_ops()
        if node.get_type_name() == "Add"
        and node.input_value(1).get_node().get_type_name() == "Constant"
    ]
    assert added == ["c"]


def scores() -> onnx.ModelProto:
    """A last product of two activations, whose columns are no channels."""
    nodes = [
        *conv("x", "a"),
        helper.make_node("Transpose", ["a"], ["b"], "b", perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["a", "b"], ["y"], "y"),
    ]
    return network(nodes, {"y": (8, 6, 6)}, **{"a.w": drawn(8, 8, 3, 3)})


def without_layers() -> onnx.ModelProto:
    return network(relu("x", "y"), {"y": (8, 6, 6)})


def with_nan() -> onnx.ModelProto:
    model = residual()
    (weights,) = (each for each in model.graph.initializer if each.name == "c.w")
    values = numpy_helper.to_array(weights).copy()
    values[0] = np.nan
    weights.CopyFrom(numpy_helper.from_array(values, "c.w"))
    return model


def choosy() -> onnx.ModelProto:
    """What random numbers are not: sizes that come to those of the other input."""
    nodes = [
        helper.make_node("Reshape", ["x", "sizes"], ["a"], "a"),
        helper.make_node("MatMul", ["a", "y.w"], ["y"], "y"),
    ]
    model = network(nodes, {"y": (4,)}, **{"y.w": drawn(4, 288).T})
    model.graph.input.append(helper.make_tensor_value_info("sizes", TensorProto.INT64, [2]))
    return model


@pytest.mark.parametrize("make", [scores, without_layers, with_nan, choosy])
def test_a_network_that_cannot_be_corrected_stays_as_it_is(
    make: Callable[[], onnx.ModelProto], tmp_path: Path
) -> None:
    network = networks.write(make(), tmp_path / "model")
    exact = read_onnx(network)
    low = rounded(exact)
    assert correct_biases(low, exact, network, PLAIN) == (low, {})


def test_a_network_that_is_exact_stays_as_it_is(tmp_path: Path) -> None:
    network = networks.write(residual(), tmp_path / "model")
    exact = read_onnx(network)
    assert correct_biases(exact, exact, network, PLAIN) == (exact, {})


def test_a_network_that_takes_long_stays_as_it_is(tmp_path: Path) -> None:
    network = networks.write(residual(), tmp_path / "model")
    exact = read_onnx(network)
    low = rounded(exact)
    assert correct_biases(low, exact, replace(network, macs=EXTRA_MACS + 1), PLAIN) == (low, {})


def sampled(network: Network, rows: int, folder: Path) -> Network:
    """With samples that tell their row."""
    pictures = np.ones((rows, 8, 6, 6), np.float32)
    pictures *= np.arange(rows, dtype=np.float32)[:, None, None, None]
    np.savez(folder / "samples.npz", **{"inputs/x": pictures})
    return replace(network, samples_path=folder / "samples.npz")


def rows_of(cases: tuple[dict[str, Array], ...]) -> list[int]:
    return [int(picture.mean()) for case in cases for picture in case["x"]]


def test_what_judges_builds_fits_none(tmp_path: Path) -> None:
    network = networks.write(residual(), tmp_path / "model")
    alone = fitting_inputs(network)
    assert (len(alone.fit), len(alone.check), alone.source, alone.is_evaluated) == (
        16,
        4,
        "random",
        False,
    )
    few = fitting_inputs(sampled(network, 15, tmp_path))
    assert (len(few.fit), few.source, few.is_evaluated) == (16, "random", True)
    assert rows_of(few.check) == [0, 13, 5, 10]
    network_of_32 = sampled(network, 32, tmp_path)
    spared = fitting_inputs(network_of_32)
    assert (spared.source, spared.is_evaluated) == ("samples", False)
    evaluated = evaluation_samples(network_of_32, MOST_ROWS)["inputs/x"]
    assert not {*rows_of(spared.fit), *rows_of(spared.check)} & set(rows_of(({"x": evaluated},)))
    assert (len(rows_of(spared.fit)), len(rows_of(spared.check))) == (6, 2)


def test_shared_observations_are_read_as_they_were_written(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    means = [rng.random((1, 2, 1)), rng.random(3)]
    written = [
        Observation({}, means, [4, 5]),
        Observation({"y": rng.random((2, 2)).astype(np.float32)}, means[::-1], [5, 4]),
    ]
    write_observations(written, tmp_path)
    for one, other in zip(written, read_observations(tmp_path), strict=True):
        assert list(one.outputs) == list(other.outputs)
        assert one.counts == other.counts
        arrays = (*one.means, *one.outputs.values())
        for array, again in zip(arrays, (*other.means, *other.outputs.values()), strict=True):
            np.testing.assert_array_equal(array, again, strict=True)
