"""Portfolios of pass lists against all portfolios there are, and classes against none."""

from itertools import combinations
from math import log
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.engine.passes.portfolio import NetworkScores, greedy, left_out

LISTS = ("a", "a,b", "c", "b,c", "none")
tables = st.lists(
    st.dictionaries(st.sampled_from(LISTS), st.floats(0.1, 1.0)), min_size=1, max_size=5
)


def networks(scores: list[dict[str, float]]) -> list[NetworkScores]:
    return [NetworkScores(f"net{n}", "class", each) for n, each in enumerate(scores)]


def gain(rows: list[NetworkScores], lists: tuple[str, ...]) -> float:
    return -sum(log(row.with_portfolio(lists)) for row in rows)


@given(tables, st.integers(1, 3))
def test_it_gains_what_theory_promises(scores: list[dict[str, float]], most: int) -> None:
    rows = networks(scores)
    found = greedy(rows, most)
    best = max(gain(rows, each) for each in combinations(LISTS, most))
    assert len(found) <= most
    assert gain(rows, found) >= (1 - (1 - 1 / most) ** most) * best - 1e-9
    # One list, or enough of them for all: greedy is the best there is.
    assert gain(rows, greedy(rows, 1)) >= max(gain(rows, (one,)) for one in LISTS) - 1e-9
    assert gain(rows, greedy(rows, len(LISTS))) >= gain(rows, LISTS) - 1e-9


def test_small_cases_are_solved_as_by_hand() -> None:
    rows = networks([{"a": 0.5, "c": 0.8}, {"a": 0.9, "c": 0.5}, {"none": 0.9}])
    assert greedy(rows, 1) == ("c",)
    assert greedy(rows, 2) == ("c", "a")
    assert greedy(rows, 9) == ("c", "a", "none")
    assert greedy(rows, 0) == ()
    assert greedy(networks([{"a": 1.0}, {}]), 3) == ()
    assert greedy([], 3) == ()
    # Equal gains: the shorter list, then the one that sorts first.
    assert greedy(networks([{"b,c": 0.5, "a,b": 0.5, "c": 0.5, "a": 0.5}]), 1) == ("a",)


def four_classes(alike: float, different: float) -> list[NetworkScores]:
    """Three networks of each class, whose class's list gives ``alike`` and others' the other."""
    classes = ("residual-cnn", "depthwise-cnn", "detection", "transformer")
    return [
        NetworkScores(
            f"{own} {n}", own, {f"for {c}": alike if c == own else different for c in classes}
        )
        for own in classes
        for n in range(3)
    ]


def mean(ratios: dict[str, float]) -> float:
    return fmean(log(ratio) for ratio in ratios.values())


def test_where_classes_matter_shuffled_ones_are_worse() -> None:
    rows = four_classes(alike=0.5, different=1.0)
    aware = mean(left_out(rows, 1, "class"))
    assert aware == pytest.approx(log(0.5))
    assert aware < mean(left_out(rows, 1, "global")) - 0.2
    assert aware < mean(left_out(rows, 1, "shuffled")) - 0.2


def test_where_they_do_not_nothing_is_gained_by_them() -> None:
    rows = four_classes(alike=0.7, different=0.7)
    assert mean(left_out(rows, 1, "class")) == pytest.approx(log(0.7))
    assert mean(left_out(rows, 1, "global")) == pytest.approx(log(0.7))
    assert mean(left_out(rows, 1, "shuffled")) == pytest.approx(log(0.7), abs=0.05)


def test_a_network_never_helps_itself() -> None:
    alone = [NetworkScores("x", "mlp", {"a": 0.1}), NetworkScores("y", "other", {"c": 0.1})]
    for grouping in ("class", "global", "shuffled"):
        assert left_out(alone, 3, grouping) == {"x": 1.0, "y": 1.0}


def test_shuffling_is_the_same_every_time() -> None:
    rows = four_classes(0.5, 0.9)
    assert left_out(rows, 1, "shuffled", seed=3) == left_out(rows, 1, "shuffled", seed=3)
