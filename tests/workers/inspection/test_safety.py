"""What is checked before any library looks at a model."""

from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.workers.inspection.conftest import Read, Refusal
from tests.workers.inspection.networks import mlp

X = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
Y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])


def _function(name: str, *called: str) -> onnx.FunctionProto:
    """``y = called[-1](... called[0](x))``, or ``Relu`` if nothing is called."""
    values = ["x", *(f"v{i}" for i in range(len(called) - 1)), "y"]
    nodes = [
        helper.make_node(op, [source], [target], domain="local")
        for op, source, target in zip(called, values, values[1:], strict=False)
    ]
    if not called:
        nodes = [helper.make_node("Relu", ["x"], ["y"])]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    return helper.make_function("local", name, ["x"], ["y"], nodes, opsets)


def _calling(name: str, functions: list[onnx.FunctionProto]) -> onnx.ModelProto:
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"], domain="local")], "g", [X], [Y])
    return helper.make_model(
        graph,
        functions=functions,
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
        ir_version=8,
    )


def test_functions_are_read_as_what_they_do(read: Read) -> None:
    model = _calling("twice", [_function("twice", "once", "once"), _function("once")])
    assert read(model).operators == {"Relu": 2}


def test_a_function_that_calls_itself_is_refused(refusal: Refusal) -> None:
    assert "calls itself" in refusal(_calling("a", [_function("a", "a")])).detail
    circle = [_function("a", "b"), _function("b", "a")]
    assert refusal(_calling("a", circle)).code == "onnx_invalid"


def test_functions_that_expand_without_end_are_refused(refusal: Refusal) -> None:
    names = [f"f{i}" for i in range(40)]
    functions = [_function(a, b, b) for a, b in pairwise(names)]
    functions.append(_function(names[-1]))
    error = refusal(_calling("f0", functions))
    assert error.code == "onnx_invalid"
    assert "expand" in error.detail


def test_functions_that_nest_too_deep_are_refused(refusal: Refusal) -> None:
    names = [f"f{i}" for i in range(200)]
    functions = [_function(a, b) for a, b in pairwise(names)]
    functions.append(_function(names[-1]))
    assert "deep" in refusal(_calling("f0", functions)).detail


@pytest.mark.parametrize("name", ["x\x00", "a\nb", "a\u2028b", "\x1b[31m"])
def test_names_with_control_characters_are_refused(refusal: Refusal, name: str) -> None:
    model = mlp()
    model.graph.input[0].name = name
    for node in model.graph.node:
        node.input[:] = [name if value == "x" else value for value in node.input]
    error = refusal(model)
    assert error.code == "onnx_invalid"
    assert error.detail.isprintable()


def test_names_that_are_not_text_are_refused(refusal: Refusal) -> None:
    data = mlp().SerializeToString()
    assert data.count(b"Relu") == 2
    assert refusal(data.replace(b"Relu", b"Re\xff\xfe")).code == "onnx_invalid"


@pytest.mark.parametrize("length", [0, 47, 49, 1000])
def test_a_tensor_with_fewer_or_more_bytes_than_its_shape_is_refused(
    refusal: Refusal, length: int
) -> None:
    model = mlp()
    tensor = next(t for t in model.graph.initializer if list(t.dims) == [16, 3])
    tensor.raw_data = bytes(length)
    assert refusal(model).code == "onnx_invalid"


@pytest.mark.parametrize("dims", [[-1], [2**62, 4], [2**40, 2**40], [1] * 65])
def test_an_impossible_shape_is_refused(refusal: Refusal, dims: list[int]) -> None:
    model = mlp()
    model.graph.initializer[0].dims[:] = dims
    assert refusal(model).code == "onnx_invalid"


def test_a_tensor_without_a_type_is_refused(refusal: Refusal) -> None:
    model = mlp()
    model.graph.initializer[0].data_type = 0
    assert refusal(model).code == "onnx_invalid"


@pytest.mark.parametrize(
    ("dtype", "elements"),
    [
        (TensorProto.FLOAT, 3),
        (TensorProto.DOUBLE, 3),
        (TensorProto.FLOAT16, 3),
        (TensorProto.BFLOAT16, 3),
        (TensorProto.INT64, 3),
        (TensorProto.UINT64, 3),
        (TensorProto.INT4, 3),
        (TensorProto.UINT4, 4),
        (TensorProto.COMPLEX64, 3),
        (TensorProto.COMPLEX128, 3),
        (TensorProto.BOOL, 3),
        (TensorProto.STRING, 3),
    ],
)
@pytest.mark.parametrize("raw", [False, True])
def test_every_way_to_store_a_tensor_is_measured_right(
    read: Read,
    dtype: int,
    elements: int,
    raw: bool,  # noqa: FBT001
) -> None:
    values = ["a"] * elements if dtype == TensorProto.STRING else [1] * elements
    if raw and dtype != TensorProto.STRING:
        array = np.ones(elements, helper.tensor_dtype_to_np_dtype(dtype))
        tensor = numpy_helper.from_array(array, "c")
        assert tensor.HasField("raw_data")
    else:
        tensor = helper.make_tensor("c", dtype, [elements], values)
    graph = helper.make_graph(
        [helper.make_node("Shape", ["c"], ["y"])],
        "g",
        [],
        [helper.make_tensor_value_info("y", TensorProto.INT64, [1])],
        [tensor],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    assert read(model).operators == {"Shape": 1}


def test_too_many_inputs_are_refused(refusal: Refusal) -> None:
    model = mlp()
    for i in range(5000):
        model.graph.input.append(helper.make_tensor_value_info(f"extra{i}", TensorProto.FLOAT, [1]))
    assert "5,001 inputs" in refusal(model).detail
