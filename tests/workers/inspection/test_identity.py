"""The graph hash: equal for the same computation, different for any other."""

import random

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.workers.inspection.networks import NETWORKS, Net, bert, mlp, resnet18, resnet50
from tests.workers.inspection.rewriting import OTHER, SAME, Rewrite, copy_of
from workers.inspection.identity import graph_hash
from workers.inspection.numbering import build
from workers.inspection.signature import signature
from workers.inspection.skeleton import inlined, skeleton

MODELS = {name: make() for name, make in NETWORKS.items()}


def hash_of(model: onnx.ModelProto) -> str:
    flat = inlined(skeleton(copy_of(model), []))
    assert flat is not None
    return graph_hash(build(flat), signature(flat)["inputs"])


def test_a_hash_is_a_sha256_and_stable() -> None:
    found = hash_of(mlp())
    assert len(found) == 64
    assert int(found, 16)
    assert found == hash_of(mlp())


def test_every_network_has_its_own_hash() -> None:
    assert len({hash_of(model) for model in MODELS.values()}) == len(MODELS)
    assert hash_of(resnet18()) != hash_of(resnet50())
    assert hash_of(bert(layers=2)) != hash_of(bert(layers=3))


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    rewrites=st.lists(st.sampled_from(SAME), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_what_is_only_written_differently_has_the_same_hash(
    name: str, rewrites: list[Rewrite], seed: int
) -> None:
    random_ = random.Random(seed)  # noqa: S311
    model = MODELS[name]
    for rewrite in rewrites:
        if rewrite.__name__ != "reordered" or all(
            n.op_type != "Constant" for n in model.graph.node
        ):
            model = rewrite(model, random_)
    assert hash_of(model) == hash_of(MODELS[name])


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(sorted(MODELS)),
    rewrite=st.sampled_from(OTHER),
    seed=st.integers(0, 2**32),
)
def test_what_computes_something_else_has_another_hash(
    name: str, rewrite: Rewrite, seed: int
) -> None:
    changed = rewrite(MODELS[name], random.Random(seed))  # noqa: S311
    assert hash_of(changed) != hash_of(MODELS[name])


def _sharing(*, shared: bool) -> onnx.ModelProto:
    """``relu(x) + relu(x)``, with one ``Relu`` or with two equal ones."""
    net = Net()
    first = net.op("Relu", "x")
    second = first if shared else net.op("Relu", "x")
    return net.model([net.op("Add", first, second)], ("N", 4))


def test_one_step_read_twice_is_not_two_equal_steps() -> None:
    assert hash_of(_sharing(shared=True)) != hash_of(_sharing(shared=False))


def _tied(*, tied: bool) -> onnx.ModelProto:
    net = Net()
    first = net.weight(4, 4)
    second = first if tied else net.weight(4, 4)
    return net.model([net.op("MatMul", net.op("MatMul", "x", first), second)], ("N", 4))


def test_one_weight_used_twice_is_not_two_weights() -> None:
    assert hash_of(_tied(tied=True)) != hash_of(_tied(tied=False))


def _crossed(*, crossed: bool) -> onnx.ModelProto:
    """Two equal branches and two readers that differ in which branch they read."""
    net = Net()
    branches = [net.op("Relu", net.op("MatMul", "x", net.weight(4, 4))) for _ in range(2)]
    left = net.op("Sin", branches[0])
    right = net.op("Cos", branches[0 if crossed else 1])
    return net.model([net.op("Add", left, right), branches[1]], ("N", 4))


def test_who_reads_what_counts_even_among_equals() -> None:
    assert hash_of(_crossed(crossed=True)) != hash_of(_crossed(crossed=False))


def test_the_order_of_operands_counts() -> None:
    found = set()
    for swap in (False, True):
        net = Net()
        operands = [net.op("Sin", "x"), net.op("Cos", "x")]
        found.add(hash_of(net.model([net.op("Sub", *operands[:: -1 if swap else 1])], ("N",))))
    assert len(found) == 2


@pytest.mark.parametrize(
    ("op_type", "values", "matters"),
    [
        ("Reshape", (np.array([0, 4], np.int64), np.array([4, -1], np.int64)), True),
        ("Mul", (np.array([2.0], np.float32), np.array([3.0], np.float32)), False),
        ("Tile", (np.array([1, 2], np.int64), np.array([2, 2], np.int64)), True),
    ],
)
def test_small_integers_are_structure_and_real_weights_are_not(
    op_type: str,
    values: tuple[np.ndarray, ...],
    matters: bool,  # type: ignore[type-arg]  # noqa: FBT001
) -> None:
    found = set()
    for value in values:
        net = Net()
        found.add(hash_of(net.model([net.op(op_type, "x", net.constant(value))], (4, 4))))
    assert (len(found) == 2) == matters


def test_the_factors_of_a_resize_are_structure() -> None:
    found = set()
    for factor in (2.0, 3.0):
        net = Net()
        scales = net.constant(np.array([1, 1, factor, factor], np.float32))
        found.add(hash_of(net.model([net.op("Resize", "x", "", scales)], (1, 3, 8, 8))))
    assert len(found) == 2


def test_dimensions_count_by_where_they_are_equal_not_by_name() -> None:
    def model(*shapes: tuple[str, str]) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, list(shape))
            for i, shape in enumerate(shapes)
        ]
        out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["p", "q"])
        graph = helper.make_graph(
            [helper.make_node("Add", ["x0", "x1"], ["y"])], "g", inputs, [out]
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])

    same = hash_of(model(("a", "b"), ("a", "b")))
    assert same == hash_of(model(("m", "n"), ("m", "n")))
    assert same != hash_of(model(("a", "b"), ("b", "a")))
    assert same != hash_of(model(("a", "b"), ("c", "b")))


def _branching(op_type: str, inner: str) -> onnx.ModelProto:
    """An ``If`` whose branches apply ``op_type`` to an outer value; ``inner`` names tensors."""
    net = Net()
    outer = net.op("Sin", "x")
    sides = []
    for side, op in (("then", op_type), ("else", "Neg")):
        out = helper.make_tensor_value_info(f"{inner}_{side}", TensorProto.FLOAT, ["N"])
        nodes = [helper.make_node(op, [outer], [out.name])]
        sides.append(helper.make_graph(nodes, inner, [], [out]))
    asked = net.op("Cast", net.op("ReduceSum", "x", keepdims=0), to=TensorProto.BOOL)
    return net.model([net.op("If", asked, then_branch=sides[0], else_branch=sides[1])], ("N",))


def test_subgraphs_are_part_of_the_structure_and_their_names_are_not() -> None:
    assert hash_of(_branching("Relu", "a")) == hash_of(_branching("Relu", "b"))
    assert hash_of(_branching("Relu", "a")) != hash_of(_branching("Tanh", "a"))


def test_a_model_written_with_functions_equals_the_one_without() -> None:
    def model(*, functions: bool) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N"])
        plain = [helper.make_node("Sin", ["x"], ["t"]), helper.make_node("Relu", ["t"], ["y"])]
        opsets = [helper.make_opsetid("", 17)]
        if not functions:
            return helper.make_model(
                helper.make_graph(plain, "g", [x], [y]), opset_imports=opsets, ir_version=8
            )
        body = helper.make_function("local", "f", ["x"], ["y"], plain, opsets)
        call = helper.make_node("f", ["x"], ["y"], domain="local")
        return helper.make_model(
            helper.make_graph([call], "g", [x], [y]),
            functions=[body],
            opset_imports=[*opsets, helper.make_opsetid("local", 1)],
            ir_version=8,
        )

    assert hash_of(model(functions=True)) == hash_of(model(functions=False))


def test_a_weight_a_caller_may_replace_is_not_a_constant() -> None:
    model = mlp()
    open_weights = copy_of(model)
    for tensor in open_weights.graph.initializer:
        open_weights.graph.input.append(
            helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))
        )
    assert hash_of(open_weights) != hash_of(model)
