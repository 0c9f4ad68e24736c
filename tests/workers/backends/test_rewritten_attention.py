"""Attention that is fused computes what its products and its softmax do."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

from workers.backends.rewrites.attention import fuse_attention
from workers.backends.rewrites.graph import EditableGraph
from workers.engine.ports import Array

HEADS, SIZE = 2, 4
RNG = np.random.default_rng(0)
ROWS = ["B", "S"]


def attention(
    *, keys: str = "columns", masked: bool = True, guarded: bool = False, seen: bool = False
) -> onnx.ModelProto:
    """Attention of ``x`` with itself; keys are transposed in one of the ways of exporters."""
    width = HEADS * SIZE
    arrays = {name: RNG.standard_normal((width, width)).astype(np.float32) for name in "qkv"}
    arrays |= {"half": np.array(0.5, np.float32), "zero": np.array(0, np.float32)}
    arrays |= {"split": np.array([0, 0, HEADS, SIZE]), "join": np.array([0, 0, width])}
    nodes: list[onnx.NodeProto] = []

    def add(kind: str, inputs: list[str], output: str, **attributes: object) -> None:
        nodes.append(helper.make_node(kind, inputs, [output], output, **attributes))

    for name in "qkv":
        add("MatMul", ["x", name], f"{name}_all")
        add("Reshape", [f"{name}_all", "split"], f"{name}_split")
        columns = name == "k" and keys == "columns"
        add(
            "Transpose",
            [f"{name}_split"],
            f"{name}_t",
            perm=[0, 2, 3, 1] if columns else [0, 2, 1, 3],
        )
    if keys == "scaled":
        add("Mul", ["k_t", "half"], "k_half")
        add("Transpose", ["k_half"], "columns", perm=[0, 1, 3, 2])
    elif keys == "matrices":
        arrays |= {"flat": np.array([-1, 5, SIZE]), "deep": np.array([-1, HEADS, SIZE, 5])}
        add("Reshape", ["k_t", "flat"], "k_flat")
        add("Transpose", ["k_flat"], "k_columns", perm=[0, 2, 1])
        add("Reshape", ["k_columns", "deep"], "columns")
    add("MatMul", ["q_t", "k_t" if keys == "columns" else "columns"], "products")
    add("Mul", ["products", "half"], "scaled")
    if masked:
        add("Add", ["scaled", "mask"], "sums")
    add("Softmax", ["sums" if masked else "scaled"], "weights", axis=-1)
    if guarded:
        add("IsNaN", ["weights"], "undefined")
        add("Where", ["undefined", "zero", "weights"], "guarded")
    add("MatMul", ["guarded" if guarded else "weights", "v_t"], "sum")
    add("Transpose", ["sum"], "sum_t", perm=[0, 2, 1, 3])
    add("Reshape", ["sum_t", "join"], "y")
    value = helper.make_tensor_value_info
    inputs = [value("x", TensorProto.FLOAT, [*ROWS, width])]
    inputs += [value("mask", TensorProto.FLOAT, ["B", 1, "S", "S"])] if masked else []
    graph = helper.make_graph(
        nodes,
        "attention",
        inputs,
        [value(name, TensorProto.FLOAT, None) for name in ("y", "weights")[: 1 + seen]],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def run(model: onnx.ModelProto, feeds: dict[str, Array]) -> Array:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    result: Array = session.run(["y"], feeds)[0]
    return result


@pytest.mark.parametrize("keys", ["columns", "scaled", "matrices"])
@pytest.mark.parametrize(("masked", "guarded"), [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("rows", [1, 3])
def test_fused_attention_computes_the_same(
    keys: str, *, masked: bool, guarded: bool, rows: int
) -> None:
    model = attention(keys=keys, masked=masked, guarded=guarded)
    graph = EditableGraph(model)
    assert fuse_attention(graph) == 1
    after = graph.model()
    assert not {"Softmax", "Transpose"} & {node.op_type for node in after.graph.node}
    for length in {5} if keys == "matrices" else {1, 5, 40}:
        feeds = {"x": RNG.standard_normal((rows, length, HEADS * SIZE)).astype(np.float32)}
        if masked:
            hidden = RNG.random((rows, 1, length, length)) < 0.4
            hidden[..., 0] = False
            # Nothing is visible from the last position.
            hidden[:, :, -1] |= guarded
            feeds["mask"] = np.where(hidden, -np.inf, 0).astype(np.float32)
        expected = run(model, feeds)
        assert np.isfinite(expected).all()
        np.testing.assert_allclose(run(after, feeds), expected, rtol=1e-4, atol=1e-5)


def test_numbers_that_are_undefined_stay_undefined() -> None:
    model = attention(masked=False)
    graph = EditableGraph(model)
    assert fuse_attention(graph) == 1
    x = RNG.standard_normal((2, 5, HEADS * SIZE)).astype(np.float32)
    x[0, 1, 2] = np.nan
    expected = run(model, {"x": x})
    np.testing.assert_allclose(run(graph.model(), {"x": x}), expected, rtol=1e-4, atol=1e-5)


def test_attention_whose_weights_are_an_output_stays() -> None:
    graph = EditableGraph(attention(seen=True))
    assert fuse_attention(graph) == 0
