"""Intervals of ratios, and what they say."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.statistics.noise import (
    Likeness,
    RatioInterval,
    _arrangements,
    interval_ratio,
    likeness,
    ratio_interval,
)

TIMES = st.lists(st.floats(1e-6, 1e3), min_size=4, max_size=8)


@given(st.integers(1, 5), st.integers(1, 5))
def test_arrangements_are_those_of_a_plain_count(one: int, other: int) -> None:
    counts = [0] * (one * other + 1)
    for places in combinations(range(one + other), one):
        counts[sum(place - rank for rank, place in enumerate(places))] += 1
    assert _arrangements(one, other) == tuple(counts)
    assert sum(counts) == comb(one + other, one)


@given(TIMES, TIMES)
def test_turning_the_ratio_over_turns_the_interval_over(
    one: list[float], other: list[float]
) -> None:
    forth, back = ratio_interval(one, other), ratio_interval(other, one)
    assert forth is not None
    assert back is not None
    assert forth.low <= forth.ratio * (1 + 1e-9)
    assert forth.ratio <= forth.high * (1 + 1e-9)
    assert (1 / back.high, 1 / back.low) == pytest.approx((forth.low, forth.high))


def test_intervals_contain_the_ratio_as_often_as_they_say() -> None:
    rng = np.random.default_rng(0)
    hits, rounds = 0, 600
    for _ in range(rounds):
        one, best = 1.3 * rng.lognormal(0, 0.2, 5), rng.lognormal(0, 0.2, 5)
        interval = ratio_interval(one.tolist(), best.tolist())
        assert interval is not None
        hits += interval.low <= 1.3 <= interval.high
    assert interval.level > 0.95
    assert hits / rounds > 0.94


def test_three_samples_say_nothing_beside_three() -> None:
    assert ratio_interval([1, 1, 1], [9, 9, 9]) is None
    assert ratio_interval([], [1.0]) is None
    assert likeness(None) == Likeness.UNTESTED


def test_equal_slower_and_undecided() -> None:
    best = [1.0, 1.01, 0.99, 1.0, 1.005]
    assert likeness(ratio_interval([1.0, 1.01, 1.0, 1.02, 0.99], best)) == Likeness.EQUAL
    assert likeness(ratio_interval([1.2, 1.21, 1.19, 1.2, 1.25], best)) == Likeness.SLOWER
    assert likeness(ratio_interval([0.9, 1.8, 0.95, 1.5, 1.6], best)) == Likeness.UNDECIDED


def test_the_ratio_of_two_ratios_is_as_wide_as_both() -> None:
    one, other = RatioInterval(0.6, 0.54, 0.6 / 0.9), RatioInterval(0.5, 0.5, 0.5)
    both = interval_ratio(one, other)
    assert (both.ratio, both.low, both.high) == pytest.approx((1.2, 1.08, 1.2 / 0.9))
    assert likeness(both) == Likeness.SLOWER
    assert likeness(interval_ratio(other, other)) == Likeness.EQUAL
