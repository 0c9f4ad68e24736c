"""Associations, compared with scipy table by table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from scipy.stats import fisher_exact as scipy_fisher

from registry.statistics.association import (
    associations,
    false_discovery_rate,
    fastest,
    fisher_exact,
    log2_odds,
)

COUNT = st.integers(0, 40)


@given(st.lists(st.tuples(COUNT, COUNT, COUNT, COUNT), min_size=1, max_size=8))
def test_p_values_are_those_of_scipy(tables: list[tuple[int, int, int, int]]) -> None:
    a, b, c, d = (np.array(each) for each in zip(*tables, strict=True))
    ours = fisher_exact(a, a + b, c, c + d)
    scipys = [scipy_fisher([[one[0], one[1]], [one[2], one[3]]]).pvalue for one in tables]
    assert ours == pytest.approx(scipys, rel=1e-6)


def test_p_values_of_large_tables_are_those_of_scipy() -> None:
    tables = [(300, 2000, 2000, 18_000), (5, 2000, 4, 18_000), (1000, 2000, 9001, 18_000)]
    a, row, c, other = (np.array(each) for each in zip(*tables, strict=True))
    scipys = [scipy_fisher([[x, m - x], [y, n - y]]).pvalue for x, m, y, n in tables]
    assert fisher_exact(a, row, c, other) == pytest.approx(scipys, rel=1e-6)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_rates_of_false_discoveries_are_those_of_scipy(p: list[float]) -> None:
    expected = false_discovery_control(p, method="bh")
    assert false_discovery_rate(np.array(p)) == pytest.approx(expected)


def test_odds_are_finite_where_a_count_is_zero() -> None:
    (odds,) = log2_odds(np.array([5]), np.array([5]), np.array([0]), np.array([45]))
    assert odds == pytest.approx(np.log2((5.5 / 0.5) * (45.5 / 0.5)))


def test_a_planted_value_is_found_and_noise_is_not() -> None:
    rng = np.random.default_rng(1)
    planted, noise = rng.integers(0, 4, 400), rng.integers(0, 4, 400)
    times = rng.lognormal(0, 0.3, 400) * np.where(planted == 2, 0.3, 1.0)
    rows = associations([planted, noise], times, fastest(times))
    evident = [row for row in rows if row.is_evident]
    best = max(rows, key=lambda row: row.log2_odds)
    assert (best.column, best.code) == (0, 2)
    assert best.q < 1e-3
    assert best.fast_share > 0.9
    assert best.rest_share < 0.35
    assert best.n == int((planted == 2).sum())
    assert {row.column for row in evident} == {0}


def test_without_a_difference_few_values_are_evident() -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(40):
        columns = [rng.integers(0, 5, 120) for _ in range(4)]
        times = rng.random(120)
        found += any(row.is_evident for row in associations(columns, times, fastest(times)))
    # At most a tenth is expected; Fisher's test is conservative.
    assert found <= 8


@given(st.lists(st.lists(st.integers(-1, 3), min_size=12, max_size=12), min_size=1, max_size=4))
def test_counts_are_those_of_a_plain_count(columns: list[list[int]]) -> None:
    times = np.arange(12.0)
    is_fast = fastest(times, 0.25)
    rows = associations([np.array(each) for each in columns], times, is_fast)
    for row in rows:
        codes = columns[row.column]
        assert row.fast == sum(codes[at] == row.code for at in range(3))
        assert row.rest == sum(codes[at] == row.code for at in range(3, 12))
        assert row.fast_total == sum(code >= 0 for code in codes[:3])
        assert row.rest_total == sum(code >= 0 for code in codes[3:])
        own = [times[at] for at in range(12) if codes[at] == row.code]
        assert row.median_s == np.median(own)
    expected = {
        (number, code)
        for number, codes in enumerate(columns)
        for code in codes
        if code >= 0 and len({each for each in codes if each >= 0}) > 1
    }
    assert {(row.column, row.code) for row in rows} == expected
    if rows:
        q = false_discovery_control([row.p for row in rows])
        assert [row.q for row in rows] == pytest.approx(list(q))


def test_there_is_nothing_to_say_of_no_trials_or_one() -> None:
    assert associations([], np.array([]), fastest(np.array([]))) == []
    one = np.array([1.0])
    assert associations([np.array([0])], one, fastest(one)) == []


@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=60), st.floats(0.01, 1))
def test_no_slow_trial_is_faster_than_a_fast_one(times: list[float], share: float) -> None:
    values = np.array(times)
    mask = fastest(values, share)
    assert mask.any()
    assert mask.sum() >= share * len(times) * 0.999
    if not mask.all():
        assert values[mask].max() <= values[~mask].min()
