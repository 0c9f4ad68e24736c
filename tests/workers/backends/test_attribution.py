"""Operators of a runtime find the nodes of the graph they compute."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper

from workers.backends.attribution import (
    AttributionGraph,
    AttributionNode,
    Operator,
    attribute,
    graph_of,
)

CHAIN = AttributionGraph(
    (
        AttributionNode("conv", "Conv", ("x", "w"), ("c",)),
        AttributionNode("norm", "BatchNormalization", ("c", "s"), ("n",)),
        AttributionNode("relu", "Relu", ("n",), ("r",)),
        AttributionNode("head", "MatMul", ("r", "h"), ("y",)),
    ),
    frozenset({"w", "s", "h"}),
    frozenset({"y"}),
)


def links(graph: AttributionGraph, *operators: Operator) -> list[dict[int, str]]:
    found = attribute(graph, operators)
    return [{link.index: link.grade for link in each} for each in found.links]


def test_names_and_outputs_anchor_exactly() -> None:
    found = links(CHAIN, Operator("FusedConv", ("conv",), ("r",)), Operator("MatMul", (), ("y",)))
    assert found == [{0: "exact", 1: "inferred", 2: "exact"}, {3: "exact"}]


def test_what_optimisers_add_to_names_is_taken_off() -> None:
    for name in ("r_nchwc", "r_token_12", "fused relu", "r_QuantizeLinear_Input", "r_bn_nchwc"):
        assert links(CHAIN, Operator("Relu", (name,)))[0][2] == "exact"


def test_a_swallowed_node_goes_to_its_only_consumer_then_to_its_only_producer() -> None:
    found = links(CHAIN, Operator("Conv", ("conv",)), Operator("MatMul", ("head",)))
    assert found == [{0: "exact"}, {1: "inferred", 2: "inferred", 3: "exact"}]
    found = links(CHAIN, Operator("Conv", ("conv",)))
    assert found == [{0: "exact", 1: "inferred", 2: "inferred", 3: "inferred"}]


def test_work_for_several_operators_is_shared() -> None:
    nodes = (
        AttributionNode("split", "Relu", ("x",), ("r",)),
        AttributionNode("left", "Gemm", ("r",), ("a",)),
        AttributionNode("right", "Gemm", ("r",), ("b",)),
    )
    graph = AttributionGraph(nodes, frozenset(), frozenset({"a", "b"}))
    found = links(graph, Operator("Gemm", ("left",)), Operator("Gemm", ("right",)))
    assert found == [{0: "shared", 1: "exact"}, {0: "shared", 2: "exact"}]


def test_conversions_are_shared_with_the_node_they_serve() -> None:
    reorder = Operator("ReorderInput", ("ReorderInput",), ("t0",), ("x",), converts=True)
    back = Operator("ReorderOutput", ("ReorderOutput",), ("r",), ("t1",), converts=True)
    relu = Operator("Relu", ("r_nchwc",), ("t1",))
    assert links(CHAIN, reorder, relu, back)[0] == {0: "shared"}
    assert links(CHAIN, reorder, relu, back)[2] == {2: "shared"}


def test_constant_and_dead_nodes_are_folded() -> None:
    nodes = (
        AttributionNode("", "Constant", (), ("k",)),
        AttributionNode("", "Neg", ("k",), ("w",)),
        AttributionNode("", "Mul", ("x", "w"), ("y",)),
        AttributionNode("", "Exp", ("y",), ("unused",)),
    )
    found = attribute(
        AttributionGraph(nodes, frozenset(), frozenset({"y"})), [Operator("Mul", (), ("y",))]
    )
    assert found.folded == (0, 1, 3)
    assert [link.index for link in found.links[0]] == [2]


def test_a_name_that_two_nodes_have_tells_nothing() -> None:
    nodes = (
        AttributionNode("n", "Relu", ("x",), ("a",)),
        AttributionNode("n", "Relu", ("a",), ("y",)),
    )
    graph = AttributionGraph(nodes, frozenset(), frozenset({"y"}))
    assert links(graph, Operator("Relu", ("n",))) == [{}]


def test_what_subgraphs_take_from_around_them_counts_as_input() -> None:
    def branch(name: str, source: str) -> object:
        node = helper.make_node("Identity", [source], [name])
        out = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([node], name, [], [out])

    choice = helper.make_node(
        "If", ["c"], ["y"], then_branch=branch("t", "a"), else_branch=branch("e", "b")
    )
    graph = graph_of(helper.make_graph([choice], "g", [], []))
    assert set(graph.nodes[0].inputs) == {"c", "a", "b"}


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.integers(0, 9), max_size=8))
def test_every_node_is_linked_or_folded_once_something_is_anchored(
    names: Sequence[str], anchors: Sequence[int]
) -> None:
    tensors = ["x", *(f"{name}{i}" for i, name in enumerate(names))]
    nodes = tuple(AttributionNode("", "Relu", (one,), (other,)) for one, other in pairwise(tensors))
    graph = AttributionGraph(nodes, frozenset(), frozenset(tensors[-1:]))
    operators = [Operator("Relu", (), (tensors[a % len(tensors)],)) for a in anchors]
    found = attribute(graph, operators)
    linked = {link.index for each in found.links for link in each}
    assert linked | set(found.folded) == set(range(len(nodes)))
    assert linked.isdisjoint(found.folded)
