"""How large integers a network takes."""

import numpy as np
import pytest
from onnx import TensorProto

from tests.workers.inspection.conftest import Read
from tests.workers.inspection.networks import Net


def test_token_ids_stay_within_their_table(read: Read) -> None:
    net = Net()
    y = net.op("Gather", net.weight(50, 4), "x")
    assert read(net.model([y], ("N", 8), TensorProto.INT64)).integer_bounds == {"x": 50}


def test_the_smallest_table_counts_on_whatever_axis(read: Read) -> None:
    net = Net()
    tokens = net.op("Gather", net.weight(50, 4), "x")
    kinds = net.op("Gather", net.weight(4, 7), "x", axis=-1)
    facts = read(net.model([tokens, kinds], ("N", 8), TensorProto.INT64))
    assert facts.integer_bounds == {"x": 7}


def test_indices_are_followed_through_what_hands_them_on(read: Read) -> None:
    net = Net()
    flat = net.op(
        "Reshape", net.op("Cast", "x", to=TensorProto.INT32), net.constant(np.array([-1]))
    )
    y = net.op("Gather", net.weight(30, 4), flat)
    assert read(net.model([y], ("N", 8), TensorProto.INT64)).integer_bounds == {"x": 30}


@pytest.mark.parametrize("operator", ["Add", "Mul"])
def test_what_is_computed_from_an_input_says_nothing(read: Read, operator: str) -> None:
    net = Net()
    y = net.op("Gather", net.weight(30, 4), net.op(operator, "x", net.constant(np.array([1]))))
    assert read(net.model([y], ("N", 8), TensorProto.INT64)).integer_bounds == {}


def test_an_input_that_is_the_table_is_not_the_index(read: Read) -> None:
    net = Net()
    y = net.op("Gather", "x", net.constant(np.array([0, 1])))
    assert read(net.model([y], (9, 8))).integer_bounds == {}
