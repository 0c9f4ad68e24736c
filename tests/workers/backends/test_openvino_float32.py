"""Operators that are marked compute in float32, however OpenVINO fuses them."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hpcfair.precisions import PRECISION_OF
from hpcfair.runtimes.openvino import compile_model, read_model, settings
from hpcfair.runtimes.quiet_openvino import ov
from workers.backends.openvino.float32 import insert_behind, layer_output, save_in_float32
from workers.engine.ports import Array
from workers.testing.backend_contract import this_target

pytestmark = pytest.mark.slow

#: Other processors compute in float32 throughout.
HAS_BFLOAT16 = bool(PRECISION_OF["bf16"].features & this_target().features)
INPUTS = np.random.default_rng(7).standard_normal((3, 8, 8, 8), np.float32)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def classifier() -> Any:
    """A convolution, pooling of a late opset, a product with a bias and one without."""
    op = ov.opset13
    x = op.parameter([-1, 8, 8, 8], np.float32, name="x")
    padding = [1, 1]
    conv = op.convolution(x, drawn(8, 8, 3, 3), [1, 1], padding, padding, [1, 1], name="conv")
    pooled = op.max_pool(
        op.relu(conv, name="relu"), [2, 2], [1, 1], [0, 0], [0, 0], [2, 2], "floor", name="pool"
    )
    flat = op.reshape(pooled.output(0), np.array([0, -1]), special_zero=True, name="flat")
    plain = {"transpose_a": False, "transpose_b": False}
    first = op.matmul(flat, drawn(128, 16), **plain, name="first")
    hidden = op.add(first, drawn(16), name="bias")
    scores = op.matmul(hidden, drawn(16, 5), **plain, name="last")
    scores.output(0).set_names({"scores"})
    return ov.Model([op.result(scores)], [x], "classifier")


def gated() -> Any:
    """A product, a normalisation by the mean of squares, a softmax of a late opset, and a product.

    Behind the last product OpenVINO lowers nothing.
    """
    op = ov.opset13
    x = op.parameter([-1, 8, 8, 8], np.float32, name="x")
    plain = {"transpose_a": False, "transpose_b": False}
    first = op.matmul(x, drawn(8, 8), **plain, name="first")
    squares = op.reduce_mean(
        op.power(first, np.float32(2), name="squares"), [-1], keep_dims=True, name="mean"
    )
    root = op.sqrt(op.add(squares, np.float32(1e-6), name="positive"), name="root")
    scaled = op.multiply(first, op.divide(np.float32(1), root, name="inverse"), name="scaled")
    norm = op.multiply(scaled, drawn(8), name="norm")
    gate = op.multiply(norm, op.softmax(norm, -1, name="softmax"), name="gate")
    scores = op.matmul(gate, drawn(8, 8), **plain, name="last")
    scores.output(0).set_names({"scores"})
    return ov.Model([op.result(scores)], [x], "gated")


def distances() -> Any:
    """Logarithms that are scaled twice, as those of relative positions, between two products."""
    op = ov.opset13
    x = op.parameter([-1, 8, 8, 8], np.float32, name="x")
    plain = {"transpose_a": False, "transpose_b": False}
    first = op.matmul(x, drawn(8, 8), **plain, name="first")
    logs = op.log(op.add(op.abs(first, name="abs"), np.float32(1), name="positive"), name="log")
    parts = op.divide(logs, np.float32(2.7), name="parts")
    scaled = op.multiply(parts, np.float32(8.1), name="scaled")
    scores = op.matmul(scaled, drawn(8, 8), **plain, name="last")
    scores.output(0).set_names({"scores"})
    return ov.Model([op.result(scores)], [x], "distances")


def names_of(model: Any) -> set[str]:
    return {node.friendly_name for node in model.get_ordered_ops()}


def scores(model: Any, names: Collection[str], precision: str, folder: Path) -> Array:
    save_in_float32(model, names, folder / "model.xml")
    compiled = compile_model(read_model(folder / "model.xml"), settings({"precision": precision}))
    assert [port.any_name for port in compiled.outputs] == ["scores"]
    return np.asarray(compiled(INPUTS)["scores"])


def test_no_mark_is_lost(tmp_path: Path) -> None:
    exact = scores(classifier(), (), "float32", tmp_path)
    everything = names_of(classifier())
    assert np.array_equal(scores(classifier(), everything, "bfloat16", tmp_path), exact)
    for name in ("conv", "pool", "first", "last"):
        lowered = scores(classifier(), everything - {name}, "bfloat16", tmp_path)
        assert np.array_equal(lowered, exact) != HAS_BFLOAT16, name


def test_marks_of_normalisations_and_softmax_are_kept(tmp_path: Path) -> None:
    exact = scores(gated(), (), "float32", tmp_path)
    everything = names_of(gated())
    marked = scores(gated(), everything, "bfloat16", tmp_path)
    # A normalisation that is not fused adds in another order.
    assert np.allclose(marked, exact, rtol=1e-5, atol=1e-5)
    for name in ("first", "norm", "softmax", "last"):
        lowered = scores(gated(), everything - {name}, "bfloat16", tmp_path)
        assert np.allclose(lowered, exact, rtol=1e-5, atol=1e-5) != HAS_BFLOAT16, name


def test_marks_of_constant_divisors_and_factors_are_kept(tmp_path: Path) -> None:
    exact = scores(distances(), (), "float32", tmp_path)
    everything = names_of(distances())
    marked = scores(distances(), everything, "bfloat16", tmp_path)
    assert np.allclose(marked, exact, rtol=1e-5, atol=1e-5)
    lowered = scores(distances(), everything - {"parts", "scaled"}, "bfloat16", tmp_path)
    assert np.allclose(lowered, exact, rtol=1e-5, atol=1e-5) != HAS_BFLOAT16


def test_factors_of_integers_stay_beside_each_other(tmp_path: Path) -> None:
    """Sizes are computed before all layers, so that they are marked."""
    op = ov.opset13
    x = op.parameter([-1, 8, 8, 8], np.float32, name="x")
    rows = op.gather(op.shape_of(x, name="shape"), np.array([0]), np.int64(0), name="rows")
    twice = op.multiply(rows, np.array([2]), name="twice")
    more = op.multiply(twice, np.array([256]), name="more")
    size = op.divide(more, np.array([1]), name="size")
    values = op.reshape(x, size, special_zero=False, name="values")
    values.output(0).set_names({"scores"})
    model = ov.Model([op.result(values)], [x], "sizes")
    assert np.array_equal(scores(model, names_of(model), "bfloat16", tmp_path), INPUTS.ravel())
    kinds = [node.get_type_name() for node in read_model(tmp_path / "model.xml").get_ops()]
    assert kinds.count("Multiply") == 2
    assert "PRelu" not in kinds


def test_biases_that_are_corrected_later_lose_no_mark(tmp_path: Path) -> None:
    exact = scores(classifier(), (), "float32", tmp_path)
    model = classifier()
    save_in_float32(model, names_of(model), tmp_path / "model.xml")
    marked = read_model(tmp_path / "model.xml")
    shift = drawn(1, 5)
    (last,) = (node for node in marked.get_ordered_ops() if node.friendly_name == "last")
    port = layer_output(last)
    assert port.get_node().friendly_name != "last"
    insert_behind(port, ov.opset13.add(port, ov.opset13.constant(shift)))
    compiled = compile_model(marked, settings({"precision": "bfloat16"}))
    assert np.allclose(compiled(INPUTS)["scores"], np.add(exact, shift), rtol=1e-5, atol=1e-5)


def test_infinities_stay(tmp_path: Path) -> None:
    model = classifier()
    save_in_float32(model, names_of(model), tmp_path / "model.xml")
    compiled = compile_model(read_model(tmp_path / "model.xml"), settings({"precision": "float32"}))
    inputs = INPUTS.copy()
    inputs[0, 0, 0, 0] = np.inf
    assert not np.isfinite(compiled(inputs)["scores"][0]).any()
    assert np.isfinite(compiled(inputs)["scores"][1:]).all()


def test_a_network_that_has_marks_can_be_marked_again(tmp_path: Path) -> None:
    model = classifier()
    save_in_float32(model, {"conv"}, tmp_path / "first.xml")
    marked = read_model(tmp_path / "first.xml")
    assert scores(marked, {"conv", "first"}, "float32", tmp_path).shape == (3, 5)
