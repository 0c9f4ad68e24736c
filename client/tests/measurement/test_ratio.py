"""Ratios, intervals and verdicts."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.measurement.ratio import (
    is_disturbed,
    ratio_interval,
    round_ratios,
    undisturbed_blocks,
    verdict,
)
from hpcfair.measurement.types import Block, Interval

SECOND = 1_000_000_000


def blocks(processes: int, rounds: int, between: float, within: float, seed: int) -> list[Block]:
    """Rounds of a candidate whose true ratio is 1."""
    rng = np.random.default_rng(seed)
    speeds = np.repeat(rng.normal(0, between, processes), rounds)
    ratios = np.exp(speeds + rng.normal(0, within, speeds.size))
    return [
        Block(index // rounds, (SECOND,), (round(SECOND * float(ratio)),))
        for index, ratio in enumerate(ratios)
    ]


def test_a_round_is_the_ratio_of_medians() -> None:
    assert round_ratios([Block(0, (100, 90, 1000), (40, 50, 60))]) == pytest.approx([0.5])


def test_disturbed_rounds_are_left_out_while_enough_remain() -> None:
    rounds = [Block(0, (100,), (100 + number,)) for number in range(8)]
    assert undisturbed_blocks(rounds, {0, 7}) == rounds[1:7]
    assert undisturbed_blocks(rounds, {0, 1, 7}) == rounds
    assert not is_disturbed(rounds, {0, 7})
    assert is_disturbed(rounds, {0, 1, 7})


def test_slowing_both_sides_changes_nothing() -> None:
    calm = [Block(0, (100, 102), (50, 51)) for _ in range(6)]
    busy = [Block(0, (100 * f, 102 * f), (50 * f, 51 * f)) for f in range(1, 7)]
    assert ratio_interval(busy) == ratio_interval(calm)


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 10**9), st.integers(1, 10**9)),
        min_size=1,
        max_size=20,
    )
)
def test_the_interval_lies_within_the_rounds_and_holds_the_ratio(
    rounds: list[tuple[int, int, int]],
) -> None:
    made = [Block(process, (a,), (b,)) for process, a, b in rounds]
    ratios, found = round_ratios(made), ratio_interval(made)
    slack = 1e-9 * found.value
    assert ratios.min() - slack <= found.low <= found.value + slack
    assert found.value - slack <= found.high <= ratios.max() + slack


def test_the_same_samples_give_the_same_interval() -> None:
    made = blocks(3, 4, 0.01, 0.02, seed=1)
    assert ratio_interval(made) == ratio_interval(made)


def coverage(of: Callable[[int], list[Block]]) -> float:
    """Share of 200 seeds whose interval holds the true ratio, 1; its error is 0.015."""
    intervals = [ratio_interval(of(seed)) for seed in range(200)]
    return sum(found.low <= 1 <= found.high for found in intervals) / len(intervals)


@pytest.mark.parametrize(
    ("processes", "rounds", "between"), [(1, 6, 0.0), (1, 20, 0.0), (3, 4, 0.02), (5, 4, 0.02)]
)
def test_the_interval_covers_the_true_ratio_as_often_as_it_says(
    processes: int, rounds: int, between: float
) -> None:
    """Also where processes differ more than rounds do, with only a few of them."""
    assert coverage(lambda seed: blocks(processes, rounds, between, 0.01, seed)) > 0.92


def test_rounds_of_several_processes_pooled_as_one_would_promise_too_much() -> None:
    """Why processes are resampled first."""

    def pooled(seed: int) -> list[Block]:
        made = blocks(3, 8, 0.02, 0.005, seed)
        return [Block(0, block.baseline_ns, block.candidate_ns) for block in made]

    assert coverage(pooled) < 0.8


@pytest.mark.parametrize(
    ("low", "high", "rounds", "expected"),
    [
        (0.90, 0.98, 10, "faster"),
        (0.90, 0.995, 10, "unstable"),
        (0.98, 0.995, 10, "same"),
        (0.99, 1.02, 10, "same"),
        (1.02, 1.10, 10, "slower"),
        (0.80, 1.20, 10, "unstable"),
        (0.40, 0.50, 5, "unstable"),
    ],
)
def test_a_verdict_needs_an_interval_clear_of_one_and_rounds_enough(
    low: float, high: float, rounds: int, expected: str
) -> None:
    assert verdict(Interval((low + high) / 2, low, high), rounds, half_width=0.03) == expected
