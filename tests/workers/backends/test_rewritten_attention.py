"""Attention that is fused computes what its products and its softmax do."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.workers.backends.attentions import (
    HEADS,
    LONG,
    MASK,
    RNG,
    WIDTH,
    AttentionNetwork,
    Shape,
)
from workers.backends.rewrites.attention import fuse_attention
from workers.backends.rewrites.graph import EditableGraph
from workers.backends.rewrites.solving import solve_sizes
from workers.engine.ports import Array


def run(model: onnx.ModelProto, feeds: dict[str, Array]) -> list[Array]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    results: list[Array] = session.run(None, feeds)
    return results


def fused(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    graph = EditableGraph(copy)
    assert fuse_attention(graph) == 1
    after = graph.model()
    assert "Softmax" not in {node.op_type for node in after.graph.node}
    return after


def feeds_of(rows: int, queries: int, keys: int, mask: Shape | None) -> dict[str, Array]:
    """Random inputs; about a third of the positions is hidden, and the last row as a whole."""
    lengths = {"x": queries, "source": keys}
    feeds: dict[str, Array] = {
        name: RNG.standard_normal((rows, length, WIDTH)).astype(np.float32)
        for name, length in lengths.items()
    }
    if mask is not None:
        sizes = {"B": rows, "S": queries, "T": keys}
        shape = [sizes[size] if isinstance(size, str) else size for size in mask]
        hidden = RNG.random(shape) < 0.3
        hidden[..., 0] = False
        feeds["mask"] = np.where(hidden, -np.inf, RNG.standard_normal(shape)).astype(np.float32)
    return feeds


def assert_same(model: onnx.ModelProto, after: onnx.ModelProto, feeds: dict[str, Array]) -> None:
    for expected, result in zip(run(model, feeds), run(after, feeds), strict=True):
        assert np.allclose(result, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("keys", ["columns", "scaled", "matrices"])
@pytest.mark.parametrize("sizes", ["constant", "computed"])
@pytest.mark.parametrize("result", ["transposed", "reshaped", "kept"])
@pytest.mark.parametrize("guarded", [False, True])
def test_forms_of_exporters(keys: str, sizes: str, result: str, *, guarded: bool) -> None:
    model = AttentionNetwork(keys=keys, sizes=sizes, result=result, guarded=guarded).model()
    after = fused(model)
    for rows, queries, others in (
        (1, 1, LONG),
        (3, 40, LONG),
        (2, 5, LONG if keys == "matrices" else 30),
    ):
        feeds = feeds_of(rows, queries, others, MASK)
        if guarded:
            feeds["mask"][:, :, -1] = -np.inf
        assert_same(model, after, feeds)


@pytest.mark.parametrize("groups", [HEADS, 2, 1])
@pytest.mark.parametrize("rotated", [False, True])
def test_rotated_positions_and_shared_keys(groups: int, *, rotated: bool) -> None:
    model = AttentionNetwork(keys="scaled", groups=groups, rotated=rotated).model()
    after = fused(model)
    for rows, queries, keys in ((1, 1, 1), (2, 5, 9), (3, 17, 17)):
        assert_same(model, after, feeds_of(rows, queries, keys, MASK))


@settings(max_examples=25, deadline=None)
@given(
    whole=st.tuples(*[st.booleans()] * 4),
    rank=st.integers(1, 4),
    guarded=st.booleans(),
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)),
)
def test_masks_broadcast_along_any_axis(
    whole: tuple[bool, ...], rank: int, sizes: tuple[int, int, int], *, guarded: bool
) -> None:
    names: Shape = ("B", HEADS, "S", "T")
    mask = tuple(name if is_whole else 1 for name, is_whole in zip(names, whole, strict=True))
    mask = mask[4 - rank :]
    model = AttentionNetwork(mask=mask, guarded=guarded).model()
    assert_same(model, fused(model), feeds_of(*sizes, mask))


def test_constant_masks_have_no_hidden_rows_to_look_for() -> None:
    causal = np.triu(np.full((LONG, LONG), -np.inf, np.float32), 1)
    model = AttentionNetwork(mask=causal, guarded=True).model()
    after = fused(model)
    assert not {"Where", "IsNaN", "ReduceSum"} & {node.op_type for node in after.graph.node}
    assert_same(model, after, feeds_of(2, LONG, LONG, None))


def test_a_mask_of_several_layers_is_prepared_once() -> None:
    network = AttentionNetwork(mask=("B", 1, 1, "T"), guarded=True)
    first = network.model()
    second = AttentionNetwork(mask=("B", 1, 1, "T"), guarded=True).model()
    merged = _after(first, second)
    graph = EditableGraph(merged)
    assert fuse_attention(graph) == 2
    after = graph.model()
    assert sum(node.op_type == "Expand" for node in after.graph.node) == 1
    assert_same(merged, after, feeds_of(2, 6, 9, ("B", 1, 1, "T")))


def _after(first: onnx.ModelProto, second: onnx.ModelProto) -> onnx.ModelProto:
    """A network that attends with the result of another one, with the same mask and source."""
    merged = onnx.ModelProto()
    merged.CopyFrom(first)
    shared = {"source": "source", "mask": "mask", "x": "y"}
    for node in second.graph.node:
        copy = merged.graph.node.add()
        copy.CopyFrom(node)
        for names in (copy.input, copy.output):
            names[:] = [shared.get(name, f"second_{name}") for name in names]
        copy.name = f"second_{copy.name}"
    for tensor in second.graph.initializer:
        merged.graph.initializer.add().CopyFrom(tensor)
        merged.graph.initializer[-1].name = f"second_{tensor.name}"
    merged.graph.output[0].name = "second_y"
    return merged


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("where", ["x", "source"])
@pytest.mark.parametrize("guarded", [False, True])
def test_undefined_numbers_are_not_lost(value: float, where: str, *, guarded: bool) -> None:
    """Where the original replaces NaN by zero, the products of values that are NaN stay NaN."""
    model = AttentionNetwork(guarded=guarded).model()
    feeds = feeds_of(2, 5, 7, MASK)
    feeds[where][0, 1, 2] = value
    feeds["mask"][:, :, -1] = -np.inf if guarded else 0
    expected, result = run(model, feeds)[0], run(fused(model), feeds)[0]
    assert not np.isfinite(expected).all() or guarded
    assert not (np.isfinite(result) & ~np.isfinite(expected)).any()
    np.testing.assert_allclose(result[1], expected[1], rtol=1e-4, atol=1e-5)


def test_other_readers_of_the_product_still_get_it() -> None:
    model = AttentionNetwork(outputs=("y", "sum_shape"), result="reshaped").model()
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    assert_same(model, fused(model), feeds_of(2, 5, 7, MASK))


@pytest.mark.parametrize(
    "network",
    [
        AttentionNetwork(outputs=("y", "weights")),
        AttentionNetwork(mask=("B", 1, 1, "S", "T")),
        AttentionNetwork(keys="scaled", groups=1, repeats=False),
        AttentionNetwork(mask=None, length=49),
    ],
    ids=["weights are an output", "a mask of five axes", "one head of keys", "a window"],
)
def test_forms_that_stay(network: AttentionNetwork) -> None:
    assert fuse_attention(EditableGraph(network.model())) == 0


@pytest.mark.parametrize(
    ("before", "after", "heads"),
    [
        (["B", "S", 24], ["B", "S", "N", 8], 3),
        (["S", "B", 24], ["S", "N", 8, "B"], 3),
        # Names that differ, and a new last axis.
        (["?", "S", 24], ["B", "S", "N", 8], 3),
        (["?", "S", 24], ["B", "S", "N", 7], None),
        (["B", "S", 24], ["M", "N", 8], None),
    ],
)
def test_heads_are_solved_for(
    before: list[str | int], after: list[str | int], heads: int | None
) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "sizes"], ["y"])],
        "reshape",
        [value("x", TensorProto.FLOAT, before), value("sizes", TensorProto.INT64, [len(after)])],
        [value("y", TensorProto.FLOAT, after)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert solve_sizes(EditableGraph(model)).get("N") == heads
