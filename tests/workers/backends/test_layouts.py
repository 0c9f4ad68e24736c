"""Transpositions around the convolutions of channels-last networks disappear."""

from collections import Counter

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from workers.backends.normalform.layouts import sink_transpositions

_LAST, _FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
_CHANNELS = 4
#: Element-wise operators on ``[N,H,W,4]``: operator and further inputs; "same" is the input again,
#: "other" the output of another convolution.
_STEPS = (
    *(("Add", "bias"), ("Mul", "scale"), ("Sub", "vector"), ("Div", "image"), ("Add", "other")),
    *(("Relu",), ("Tanh",), ("Clip", "low", "high"), ("LeakyRelu",), ("Mul", "same")),
)


def network(
    steps: tuple[tuple[str, ...], ...], operator: str = "Conv", *, is_shown: bool = False
) -> onnx.ModelProto:
    """``float32[N,5,6,4] -> float32[N,h,w,4]`` as Keras writes it: two convolutions with ``steps``
    between them. ``is_shown`` makes the value in between an output as well."""
    rng = np.random.default_rng(1)
    constants = {
        name: rng.uniform(0.5, 1.5, shape).astype(np.float32)
        for name, shape in {
            "w0": (_CHANNELS, _CHANNELS, 3, 3),
            "w1": (_CHANNELS, _CHANNELS, 1, 1),
            "bias": (1, 1, 1, _CHANNELS),
            "scale": (),
            "vector": (_CHANNELS,),
            "image": (5, 6, 1),
        }.items()
    }
    constants |= {"low": np.array(0, np.float32), "high": np.array(6, np.float32)}
    node, pads = helper.make_node, [1, 1, 1, 1]
    nodes = [node("Transpose", ["x"], ["first"], perm=_FIRST)]
    for name in ("last", "other"):
        nodes.append(node(operator, ["first", "w0"], [f"{name}.conv"], pads=pads))
        nodes.append(node("Transpose", [f"{name}.conv"], [name], perm=_LAST))
    value = "last"
    for number, (kind, *others) in enumerate(steps):
        inputs = [value, *(value if other == "same" else other for other in others)]
        value = f"step{number}"
        nodes.append(node(kind, inputs, [value]))
    nodes += [
        node("Transpose", [value], ["again"], perm=_FIRST),
        node("Conv", ["again", "w1"], ["conv"]),
        node("Transpose", ["conv"], ["sum"], perm=_LAST),
        node("Add", ["sum", "bias"], ["y"]),
    ]
    outputs = ["y", value] if is_shown else ["y"]
    graph = helper.make_graph(
        nodes,
        "keras",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 5, 6, _CHANNELS])],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, [None] * 4) for o in outputs],
        [numpy_helper.from_array(each, name) for name, each in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def counted(model: onnx.ModelProto) -> Counter[str]:
    return Counter(node.op_type for node in model.graph.node)


@given(
    steps=st.lists(st.sampled_from(_STEPS), max_size=5).map(tuple),
    operator=st.sampled_from(["Conv", "ConvTranspose"]),
    is_shown=st.booleans(),
)
def test_the_results_are_the_same(
    steps: tuple[tuple[str, ...], ...], operator: str, *, is_shown: bool
) -> None:
    model = network(steps, operator, is_shown=is_shown)
    changed = sink_transpositions(model)
    onnx.checker.check_model(changed, full_check=True)
    inputs = {"x": np.random.default_rng(2).standard_normal((2, 5, 6, 4)).astype(np.float32)}
    expected, actual = (ReferenceEvaluator(each).run(None, inputs) for each in (model, changed))
    for one, other in zip(expected, actual, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-4, atol=1e-4)
    assert counted(changed)["Transpose"] <= counted(model)["Transpose"]


def test_biases_and_activations_follow_their_convolution() -> None:
    changed = sink_transpositions(network((("Add", "bias"), ("Relu",))))
    order = [node.op_type for node in changed.graph.node]
    assert order == ["Transpose", "Conv", "Relu", "Conv", "Transpose"]
    convolutions = [node for node in changed.graph.node if node.op_type == "Conv"]
    assert [len(node.input) for node in convolutions] == [3, 3]


def test_both_sides_of_a_sum_are_moved() -> None:
    changed = sink_transpositions(network((("Relu",), ("Add", "other"), ("Relu",))))
    assert counted(changed)["Transpose"] == 2


@pytest.mark.parametrize("perm", [[0, 2, 1, 3], [0, 2, 3, 1]])
def test_the_transpositions_of_attention_stay(perm: list[int]) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "heads"], ["split"]),
        helper.make_node("Transpose", ["split"], ["keys"], perm=perm),
        helper.make_node("Mul", ["keys", "scale"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "attention",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None] * 4)],
        [
            numpy_helper.from_array(np.array([0, 6, 2, 4]), "heads"),
            numpy_helper.from_array(np.array(0.5, np.float32), "scale"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    assert sink_transpositions(model).graph.node == model.graph.node
