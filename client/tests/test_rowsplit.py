"""Models of a fixed batch size, called with another number of rows."""

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from hpcfair.client import Client
from hpcfair.errors import BadInput

WEIGHT = np.arange(12, dtype=np.float32).reshape(4, 3)


def fixed(rows: int, *, softmax_axis: int | None = None, positions: bool = False) -> bytes:
    """``float32[rows,4] -> float32[rows,3]``: a product, then what mixes or numbers rows."""
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"])]
    weights = [onnx.numpy_helper.from_array(WEIGHT, "w")]
    last = "p"
    if softmax_axis is not None:
        nodes.append(helper.make_node("Softmax", ["p"], ["s"], axis=softmax_axis))
        last = "s"
    if positions:
        places = np.arange(rows, dtype=np.float32).reshape(rows, 1)
        weights.append(onnx.numpy_helper.from_array(places, "places"))
        nodes.append(helper.make_node("Add", ["p", "places"], ["a"]))
        last = "a"
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    tensors = (
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, size])]
        for name, size in (("x", 4), ("y", 3))
    )
    graph = helper.make_graph(nodes, "fixed", *tensors, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(model.SerializeToString())


def serve(hub: Any, resolution: dict[str, Any], network: bytes, rows: int | str) -> None:
    resolution["files"] = [hub.keep(network, "model.onnx")]
    resolution["signature"] = {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [rows, 4]}],
        "outputs": [{"name": "y", "dtype": "float32", "shape": [rows, 3]}],
    }


def rows_of(count: int) -> Any:
    return np.random.default_rng(0).standard_normal((count, 4)).astype(np.float32)


@pytest.mark.parametrize("built", [1, 4])
@pytest.mark.parametrize("count", [1, 3, 4, 9])
def test_any_number_of_rows_runs_in_batches_of_the_built_size(
    hub: Any, client: Client, resolution: dict[str, Any], built: int, count: int
) -> None:
    serve(hub, resolution, fixed(built, softmax_axis=1), built)
    model = client.load("lab/tiny")
    x = rows_of(count)

    y = model(x)

    scores = np.exp(x @ WEIGHT - (x @ WEIGHT).max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, scores / scores.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_build_of_a_fixed_size_serves_an_open_signature(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    serve(hub, resolution, fixed(2), "N")
    x = rows_of(5)

    np.testing.assert_allclose(client.load("lab/tiny")(x), x @ WEIGHT, rtol=1e-5)


@pytest.mark.parametrize("mixed", [{"softmax_axis": 0}, {"positions": True}])
def test_rows_that_depend_on_one_another_or_their_place_are_not_split(
    hub: Any, client: Client, resolution: dict[str, Any], mixed: Any
) -> None:
    serve(hub, resolution, fixed(4, **mixed), 4)
    model = client.load("lab/tiny")

    with pytest.raises(BadInput, match=r"'x' is \[9, 4\].*4 rows at a time.*x: float32\[4,4\]"):
        model(rows_of(9))
    assert model(rows_of(4)).shape == (4, 3)


def test_what_else_does_not_fit_is_refused_as_before(
    hub: Any, client: Client, resolution: dict[str, Any]
) -> None:
    serve(hub, resolution, fixed(4), 4)
    model = client.load("lab/tiny")

    for wrong in (rows_of(9)[:, :3], rows_of(9).astype(np.float64), rows_of(0)):
        with pytest.raises(BadInput, match=r"float32\[4,4\]"):
            model(wrong)
