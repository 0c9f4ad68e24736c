"""Links by names, by isomorphism with an exact cover, and what cannot be linked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.nodelinks.link import Linked, link
from registry.nodelinks.network import LinkNetwork
from tests.registry.nodelinks.networks import PlainCall, sketch

#: Convolutions with normalisation and activation, a residual sum, and a dense layer.
RESIDUAL = sketch([
    ("Conv", "x w1", "a"), ("BatchNormalization", "a w2", "b"), ("Relu", "b", "c"),
    ("Conv", "c w3", "d"), ("BatchNormalization", "d w4", "e"),
    ("Add", "e c", "f"), ("Relu", "f", "g"),
    ("GlobalAveragePool", "g", "h"), ("Flatten", "h", "i"), ("Gemm", "i w5", "y"),
])  # fmt: skip
#: Two branches with equal operators that read one tensor.
BRANCHES = sketch([
    ("Conv", "x w1", "a"), ("Conv", "a w2", "b"), ("Conv", "a w3", "c"), ("Concat", "b c", "d"),
    ("Conv", "d w4", "y"),
])  # fmt: skip


def links(network: LinkNetwork, *calls: PlainCall, is_ordered: bool = True) -> Linked:
    return link(network, calls, is_ordered=is_ordered)


def nodes(linked: Linked) -> list[list[int]]:
    return [list(each) for each in linked.links]


def test_without_names_the_order_and_the_patterns_find_every_node() -> None:
    """As a GPU runs it: normalisations are folded, activations and the sum are fused."""
    kernels = [PlainCall("Conv"), PlainCall("Conv"), PlainCall("Pool"), PlainCall("MatMul")]
    linked = links(RESIDUAL, *kernels)
    assert nodes(linked) == [[0, 1, 2], [3, 4, 5, 6], [7], [8, 9]]
    assert {grade for each in linked.links for grade in each.values()} == {"inferred"}
    assert linked.fit.is_same
    assert (linked.fit.heavy_found, linked.fit.heavy_nodes) == (3, 3)


def test_without_fusion_every_operator_is_a_call() -> None:
    operators = [node.operator for node in RESIDUAL.nodes]
    linked = links(RESIDUAL, *[PlainCall(each) for each in operators])
    assert nodes(linked) == [[at] for at in range(10)]
    assert linked.fit.heavy_found == 3


def test_names_are_exact_and_what_was_fused_to_them_is_inferred() -> None:
    """As ONNX Runtime names a fused convolution: by the output of its activation."""
    linked = links(RESIDUAL, PlainCall("Conv", ("c_nchwc",), outputs=("c_nchwc",)))
    assert linked.links[0] == {
        0: "inferred",
        1: "inferred",
        2: "exact",
        **dict.fromkeys(range(3, 10), "inferred"),
    }
    assert linked.fit.named == 1


def test_a_number_for_want_of_a_name_is_inferred_and_must_fit_the_operator() -> None:
    linked = links(RESIDUAL, PlainCall("Gemm", ("Gemm_9",)), PlainCall("", ("Gemm_3",)))
    assert linked.links[0][9] == "inferred"
    assert linked.links[1] == {}
    assert linked.reasons[1] == "the profile tells neither a node nor an operator"


def test_branches_that_nothing_tells_apart_are_shared_by_their_calls() -> None:
    linked = links(BRANCHES, *[PlainCall("Conv")] * 3, PlainCall("Concat"), PlainCall("Conv"))
    assert linked.links[1] == linked.links[2] == {1: "shared", 2: "shared"}
    assert linked.fit.doubtful == 2
    assert linked.links[4] == {4: "inferred"}


def test_shapes_tell_branches_apart() -> None:
    shapes = {"b": (None, 8, 4, 4), "c": (None, 16, 4, 4)}
    network = sketch(
        [
            ("Conv", "x w1", "a"),
            ("Conv", "a w2", "b"),
            ("Conv", "a w3", "c"),
            ("Concat", "b c", "y"),
        ],
        shapes=shapes,
    )
    calls = [
        PlainCall("Conv"),
        PlainCall("Conv", shape=(1, 16, 4, 4)),
        PlainCall("Conv", shape=(1, 8, 4, 4)),
    ]
    linked = links(network, *calls, PlainCall("Concat"))
    assert nodes(linked)[:3] == [[0], [2], [1]]
    assert linked.fit.doubtful == 0


def test_a_region_that_is_named_by_its_ends_has_everything_between_them() -> None:
    linked = links(RESIDUAL, PlainCall("kgen", span=("d", "g")))
    assert {index: grade for index, grade in linked.links[0].items() if 3 <= index <= 6} == {
        3: "exact", 4: "inferred", 5: "inferred", 6: "exact",
    }  # fmt: skip


def test_conversions_are_not_computed_nodes() -> None:
    reorder = PlainCall("ReorderInput", converts=True)
    linked = links(RESIDUAL, reorder, PlainCall("Conv"))
    assert linked.links[0] == {}
    assert "changes layout" in linked.reasons[0]
    assert linked.fit.calls == 1


def test_a_summary_links_only_what_has_one_place() -> None:
    linked = links(RESIDUAL, PlainCall("Conv"), PlainCall("Gemm"), is_ordered=False)
    assert 9 in linked.links[1]
    assert "without the order" in linked.reasons[0]


def test_constants_are_folded() -> None:
    network = sketch([("Add", "w1 w2", "w3"), ("Mul", "w3 w1", "w4"), ("MatMul", "x w4", "y")])
    linked = links(network, PlainCall("MatMul"))
    assert linked.folded == (0, 1)
    assert nodes(linked) == [[2]]


@pytest.mark.parametrize(
    "operators",
    [
        ["Conv"] * 9 + ["MatMul"],  # a deeper network
        ["MatMul", "Softmax", "MatMul"],  # another kind of network
        ["Conv", "Pool", "MatMul"],  # a smaller one
        ["LSTM"],
    ],
)
def test_a_profile_of_another_network_does_not_fit(operators: list[str]) -> None:
    fit = links(RESIDUAL, *[PlainCall(each) for each in operators]).fit
    assert not fit.is_same
    assert "convolutions and products are matched" in str(fit)


def test_shapes_of_another_size_do_not_fit() -> None:
    network = sketch(
        [("Conv", "x w1", "a"), ("Gemm", "a w2", "y")],
        shapes={"a": (None, 8, 4, 4), "y": (None, 9)},
    )
    calls = [PlainCall("Conv", ("a",), shape=(1, 8, 9, 9)), PlainCall("Gemm", ("y",), shape=(1, 7))]
    fit = links(network, *calls).fit
    assert not fit.is_same
    assert "0 of 2 stated shapes agree" in str(fit)


def test_the_batch_may_differ() -> None:
    network = sketch([("Gemm", "x w1", "y")], shapes={"y": (1, 9)})
    assert links(network, PlainCall("Gemm", ("y",), shape=(64, 9))).fit.is_same


_CHAIN = st.lists(
    st.sampled_from(["Conv", "Relu", "MaxPool", "MatMul", "Softmax"]), min_size=1, max_size=30
)


@given(operators=_CHAIN)
def test_a_chain_is_covered_exactly_by_one_call_for_each_node(operators: list[str]) -> None:
    rows: list[Any] = [
        (each, f"t{place} w{place}", f"t{place + 1}") for place, each in enumerate(operators)
    ]
    linked = links(sketch(rows), *[PlainCall(each) for each in operators])
    covered = [index for each in linked.links for index in each]
    assert sorted(covered) == sorted(set(covered))
    assert set(covered) == set(range(len(operators)))


@given(
    operators=_CHAIN,
    calls=st.lists(
        st.sampled_from(["Conv", "Elementwise", "MatMul", "Pool", "", "Kgen"]), max_size=30
    ),
)
def test_no_node_is_computed_twice_whatever_the_calls(
    operators: list[str], calls: list[str]
) -> None:
    rows = [(each, f"t{place} w{place}", f"t{place + 1}") for place, each in enumerate(operators)]
    linked = links(sketch(rows), *[PlainCall(each) for each in calls])
    owned: dict[int, int] = {}
    for number, each in enumerate(linked.links):
        for index, grade in each.items():
            assert grade in {"inferred", "shared"}
            assert grade == "shared" or owned.setdefault(index, number) == number
