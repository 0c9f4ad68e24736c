"""Operations and bytes of groups of nodes, from a topology."""

from typing import Any

from registry.selectors.analysis.networkwork import NetworkWork

#: conv (x, w -> c), relu (c -> r), gemm (r, v -> y); the output is y.
DOCUMENT: dict[str, Any] = {
    "operators": ["Conv", "Relu", "Gemm"],
    "dtypes": ["float32"],
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


def work(**changes: Any) -> NetworkWork:
    return NetworkWork({**DOCUMENT, **changes})


def test_operations_are_two_for_each_multiply_accumulate() -> None:
    assert work().flops([0]) == 2000
    assert work().flops([0, 1, 2]) == 2100
    assert work().flops([1]) == 0


def test_what_passes_between_the_nodes_of_a_group_does_not_count() -> None:
    # Alone, the convolution writes its result; with its activation, only the latter's.
    assert work().traffic([0]) == 4 * (10 + 100 + 20)
    assert work().traffic([0, 1]) == 4 * (10 + 100 + 20)
    assert work().traffic([1]) == 4 * (20 + 20)
    assert work().traffic([0, 1, 2]) == 4 * (10 + 100 + 40 + 2)


def test_float32_values_take_the_bytes_of_the_executed_precision() -> None:
    assert work().traffic([0], "bfloat16") == 2 * (10 + 100 + 20)
    assert work().traffic([0], "int8") == 10 + 100 + 20
    indices = DOCUMENT["tensors"] | {"dtype": [1, 0, 0, 0, 0, 0]}
    mixed = work(tensors=indices, dtypes=["float32", "int64"])
    assert mixed.traffic([0], "bfloat16") == 8 * 10 + 2 * (100 + 20)


def test_what_is_not_known_is_not_guessed() -> None:
    nodes = DOCUMENT["nodes"] | {"macs": [None, 0, 50]}
    assert work(nodes=nodes).flops([0, 1]) is None
    assert work(nodes=nodes).flops([1]) == 0
    tensors = {"dtype": [-1, 0, 0, 0, 0, 0], "shape": [[1], [1], None, [1], [1], [1]]}
    assert work(tensors=tensors).traffic([0]) is None
    assert work(tensors=tensors).traffic([2]) == 4 * 3
    # Positions of another network.
    assert work().flops([7]) is None
    assert work().traffic([0, 7]) is None
    assert work().traffic([]) is None
    assert work().flops([]) is None


def test_a_group_is_named_by_its_operators() -> None:
    assert work().label([0, 1]) == "Conv + Relu"
    assert work().label([0, 1, 2], most=2) == "Conv + Relu + 1 more"
    assert work().label([9]) == ""
