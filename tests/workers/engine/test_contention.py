"""Rounds that others disturb."""

from hpcfair.measurement.types import Block
from workers.engine.contention import undisturbed_blocks


def test_contended_rounds_are_left_out_while_enough_remain() -> None:
    rounds = [Block(0, (100,), (100 + number,)) for number in range(8)]
    assert undisturbed_blocks(rounds, {0, 7}) == rounds[1:7]
    assert undisturbed_blocks(rounds, {0, 1, 7}) == rounds
