"""Operations and bytes of groups of nodes, and of the calls that compute them."""

from dataclasses import dataclass, field
from typing import Any

from registry.kernels.networkwork import (
    CallWork,
    NetworkWork,
    NodeWork,
    call_works,
    executed_precision,
)

#: conv (x, w -> c), relu (c -> r), gemm (r, v -> y); the output is y.
DOCUMENT: dict[str, Any] = {
    "operators": ["Conv", "Relu", "Gemm"],
    "dtypes": ["float32", "int64", "int4"],
    "nodes": {
        "operator": [0, 1, 2],
        "name": ["conv1", "relu1", "head"],
        "macs": [1000, 0, 50],
        "inputs": [[0, 1], [2, -1], [3, 4]],
        "outputs": [[2], [3], [5]],
    },
    "tensors": {
        "dtype": [0, 0, 0, 0, 0, 0],
        "shape": [["N", 10], [100], [20], [20], [40], [2]],
    },
    "outputs": [5],
}


@dataclass
class Call:
    """A call of a profile."""

    median_ns: int
    nodes: list[dict[str, Any]] = field(default_factory=list)
    precision: str = "float32"


def call(median_ns: int, *nodes: int, grade: str = "exact", precision: str = "float32") -> Call:
    return Call(median_ns, [{"index": node, "grade": grade} for node in nodes], precision)


def network(**changes: Any) -> NetworkWork:
    return NetworkWork({**DOCUMENT, **changes})


def traffic(*nodes: int, precision: str = "", **changes: Any) -> float | None:
    return network(**changes).of(nodes, precision).traffic


def test_operations_are_two_for_each_multiply_accumulate() -> None:
    assert network().of([0]).flops == 2000
    assert network().of([0, 1, 2]).flops == 2100
    assert network().of([1]).flops == 0
    assert network().of([1]).intensity is None


def test_what_passes_between_the_nodes_of_a_group_does_not_count() -> None:
    # Alone, the convolution writes its result; with its activation, only the latter's.
    assert traffic(0) == 4 * (10 + 100 + 20)
    assert traffic(0, 1) == 4 * (10 + 100 + 20)
    assert traffic(1) == 4 * (20 + 20)
    assert traffic(0, 1, 2) == 4 * (10 + 100 + 40 + 2)
    # A tensor that another node reads as well leaves the group.
    nodes = DOCUMENT["nodes"] | {"inputs": [[0, 1], [2], [3, 2]]}
    assert traffic(0, 1, nodes=nodes) == 4 * (10 + 100 + 20 + 20)


def test_floating_point_tensors_have_the_width_of_the_executed_precision() -> None:
    assert traffic(0, precision="bfloat16") == 2 * (10 + 100 + 20)
    assert traffic(0, precision="int8") == 10 + 100 + 20
    # Indices stay indices, and packed weights packed.
    tensors = DOCUMENT["tensors"] | {"dtype": [1, 2, 0, 0, 0, 0]}
    assert traffic(0, precision="bfloat16", tensors=tensors) == 8 * 10 + 100 / 2 + 2 * 20
    # "int64" of a runtime is no precision of floating-point tensors.
    assert traffic(0, precision="int64") == traffic(0)


def test_a_tensor_that_several_nodes_of_a_call_read_counts_once() -> None:
    nodes = DOCUMENT["nodes"] | {"inputs": [[0, 1], [2], [3, 1]]}
    assert traffic(0, 1, 2, nodes=nodes) == 4 * (10 + 100 + 2)


def test_what_is_not_known_is_not_guessed() -> None:
    nodes = DOCUMENT["nodes"] | {"macs": [None, 0, 50]}
    assert network(nodes=nodes).of([0, 1]).flops is None
    assert network(nodes=nodes).of([1]).flops == 0
    tensors = {"dtype": [-1, 0, 0, 0, 0, 0], "shape": [[1], [1], None, [1], [1], [1]]}
    assert traffic(0, tensors=tensors) is None
    assert traffic(2, tensors=tensors) == 4 * 3
    # Positions of another network.
    assert network().of([7]) == network().of([0, 7]) == network().of([]) == NodeWork()


def test_a_node_of_several_calls_is_the_work_of_the_longest() -> None:
    first, second, third = call_works(
        [call(5, 0), call(40, 0, 1), call(7, 2, grade="inferred")], network(), "float32"
    )
    assert first.flops is None
    assert (second.flops, second.traffic) == (2000, 4 * (10 + 100 + 20))
    assert third.flops == 100


def test_work_that_calls_share_is_the_work_of_none() -> None:
    shared, own = call_works([call(90, 0, grade="shared"), call(40, 0)], network(), "float32")
    assert (shared.flops, shared.traffic) == (None, None)
    assert own.flops == 2000


def test_a_precision_that_is_not_reported_is_the_models() -> None:
    (one,) = call_works([call(5, 0, precision="")], network(), "float16")
    assert one == CallWork(2000, 2 * (10 + 100 + 20), "float16", is_assumed=True)
    assert executed_precision("int8", "float32") == ("int8", False)
    assert executed_precision("int64", "float32") == ("float32", True)
    assert executed_precision("", "") == ("float32", True)


def test_a_group_is_named_by_its_operators() -> None:
    assert network().label([0, 1]) == "Conv + Relu"
    assert network().label([0, 1, 2], most=2) == "Conv + Relu + 1 more"
    assert network().label([9]) == ""
