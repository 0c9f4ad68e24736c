"""TVM computes recurrent operators of short sequences step by step."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from hpcfair.runtimes import registry
from tests.programs import needs
from workers.backends.tvm.backend import TvmBackend
from workers.engine.errors import InvalidCandidate
from workers.testing import networks
from workers.testing.backend_contract import this_target

pytestmark = [needs("cc"), pytest.mark.slow]

STEPS, INPUT, HIDDEN = 5, 3, 4
GATES = {"LSTM": 4, "GRU": 3}


def recurrent(
    kind: str, directions: int = 1, *, length: int | str = STEPS, **attributes: Any
) -> onnx.ModelProto:
    """``float32[length,N,3]`` to all hidden states and the last ones, with random weights; the
    initial state is an input as well."""
    rng, rows = np.random.default_rng(0), GATES[kind] * HIDDEN
    weights = {
        "w": rng.standard_normal((directions, rows, INPUT)),
        "r": rng.standard_normal((directions, rows, HIDDEN)) / 2,
        "b": rng.standard_normal((directions, 2 * rows)) / 2,
    }
    outputs = ["y", "last"]
    node = helper.make_node(
        kind, ["x", "w", "r", "b", "", "start"], outputs, hidden_size=HIDDEN, **attributes
    )
    shapes: dict[str, list[int | str]] = {
        "x": [length, "N", INPUT],
        "start": [directions, "N", HIDDEN],
        "y": [length, directions, "N", HIDDEN],
        "last": [directions, "N", HIDDEN],
    }
    values = {
        name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    }
    graph = helper.make_graph(
        [node],
        "network",
        [values["x"], values["start"]],
        [values[name] for name in outputs],
        [numpy_helper.from_array(each.astype(np.float32), n) for n, each in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def with_computed_weights(model: onnx.ModelProto) -> onnx.ModelProto:
    """The network with weights whose gates are sorted in the graph, as PyTorch exports them."""
    changed = onnx.ModelProto.FromString(model.SerializeToString())
    nodes, initializers = [], list(changed.graph.initializer)
    for each in initializers:
        name, rows = each.name, each.dims[1]
        each.name = f"stored_{name}"
        for at, value in (("0", 0), ("1", 1), ("middle", rows // 2), ("end", rows)):
            array = np.array([value], np.int64)
            changed.graph.initializer.append(numpy_helper.from_array(array, f"{name}_{at}"))
        bounds = [(f"{name}_middle", f"{name}_end"), (f"{name}_0", f"{name}_middle")]
        nodes += [
            helper.make_node("Slice", [each.name, *bound, f"{name}_1"], [f"{name}_part{number}"])
            for number, bound in enumerate(bounds)
        ]
        parts = [f"{name}_part0", f"{name}_part1"]
        nodes.append(helper.make_node("Concat", parts, [name], axis=1))
    del changed.graph.node[:]
    changed.graph.node.extend([*nodes, *model.graph.node])
    return changed


@pytest.mark.parametrize(
    ("kind", "direction", "attributes", "computed", "has_biases"),
    [
        ("LSTM", "forward", {}, False, True),
        ("LSTM", "forward", {}, False, False),
        ("LSTM", "forward", {}, True, False),
        ("LSTM", "bidirectional", {}, False, True),
        ("LSTM", "bidirectional", {}, True, True),
        ("GRU", "reverse", {"linear_before_reset": 1}, False, True),
        ("GRU", "forward", {"linear_before_reset": 1}, True, True),
    ],
)
def test_states_are_those_of_onnx_runtime(
    tmp_path: Path,
    kind: str,
    direction: str,
    attributes: dict[str, Any],
    *,
    computed: bool,
    has_biases: bool,
) -> None:
    directions = 2 if direction == "bidirectional" else 1
    model = recurrent(kind, directions, direction=direction, **attributes)
    if computed:
        model = with_computed_weights(model)
    if not has_biases:
        model.graph.node[-1].input[3] = ""
    network = networks.write(model, tmp_path / "model")
    backend, target, out = TvmBackend(), this_target(), tmp_path / "build"
    out.mkdir()
    built = backend.build(network, target, backend.default(network, target), out)
    assert built.directory is not None
    runtime = registry.open(
        built.runtime, built.directory / built.entry_point, built.runtime_options
    )
    rng = np.random.default_rng(1)
    inputs = {
        "x": rng.standard_normal((STEPS, 2, INPUT)).astype(np.float32),
        "start": rng.standard_normal((directions, 2, HIDDEN)).astype(np.float32),
    }
    session = ort.InferenceSession(network.model_path, providers=["CPUExecutionProvider"])
    expected = session.run(None, inputs)
    actual = runtime.run(inputs)
    np.testing.assert_allclose(actual["y"], expected[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual["last"], expected[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (recurrent("GRU"), "it resets before the product"),
        (recurrent("LSTM", length=200), "its sequence has 200 steps; up to 128"),
        (recurrent("LSTM", length="S"), "its sequence has a variable length"),
        (recurrent("LSTM", clip=1.0), "it has clip"),
    ],
)
def test_other_recurrences_are_refused(tmp_path: Path, model: onnx.ModelProto, reason: str) -> None:
    network = networks.write(model, tmp_path / "model")
    backend, target, out = TvmBackend(), this_target(), tmp_path / "build"
    out.mkdir()
    with pytest.raises(InvalidCandidate, match=reason):
        backend.build(network, target, backend.default(network, target), out)
