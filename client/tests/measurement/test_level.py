"""A measurement whose baseline is off the level of the others is noticed, and only such a one."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.measurement.level import LEAST_SPREAD, WINDOW, BaselineLevel

LATENCIES = st.floats(1.0, 1e12)


def level_of(series: list[float]) -> BaselineLevel:
    level = BaselineLevel()
    for latency in series:
        level.add(latency)
    return level


def off(series: list[float]) -> list[float]:
    level = level_of(series)
    return [latency for index, latency in enumerate(series) if level.is_off(index)]


def noticed_at_once(series: list[float]) -> list[int]:
    """Indices of the measurements that were off when they were the newest."""
    level, actual = BaselineLevel(), []
    for latency in series:
        index = level.add(latency)
        if level.is_off(index):
            actual.append(index)
    return actual


def test_the_wrong_trial_of_a_search_is_noticed_and_its_neighbours_are_not() -> None:
    """The baseline of a network, in milliseconds, as a search measured it on two processors."""
    series = [7.7, 8.7, 7.2, 13.7, 7.9, 8.1, 7.5]
    assert noticed_at_once(series) == [3]
    assert off(series) == [13.7]


@pytest.mark.parametrize("series", [[10.0, 34.2], [34.2, 10.0], [7.7, 14.3]])
def test_two_measurements_that_differ_are_decided_for_the_lower(series: list[float]) -> None:
    assert off(series) == [max(series)]


def test_one_measurement_is_its_own_level() -> None:
    assert off([13.7]) == []
    assert level_of([13.7]).shift(0) == pytest.approx(1)


def test_a_level_that_was_too_low_once_is_noticed_too() -> None:
    series = [14.3, 14.1, 14.5, 7.7, 14.2]
    assert noticed_at_once(series) == [3]
    assert level_of(series).shift(3) == pytest.approx(7.7 / 14.2)


def test_a_first_measurement_on_the_wrong_level_is_noticed_later() -> None:
    assert noticed_at_once([14.3, 7.7, 7.9, 8.0]) == []
    assert off([14.3, 7.7, 7.9, 8.0]) == [14.3]


def test_a_third_of_the_measurements_may_be_on_another_level() -> None:
    series = [7.7, 14.3, 7.9, 7.5, 14.0, 8.2, 14.4, 7.6, 7.8, 8.0, 14.2, 7.7]
    assert off(series) == [latency for latency in series if latency > 10]


def test_a_change_that_lasts_moves_the_level() -> None:
    before, after = [8.0, 8.1, 7.9] * 4, [13.9, 14.1, 14.0] * 4
    assert off(before + after) == []
    noticed = noticed_at_once(before + after)
    assert noticed == list(range(12, 12 + WINDOW // 2))


def test_a_drift_is_followed() -> None:
    warming = [8.0 * 1.05**step for step in range(30)]
    assert warming[-1] > 4 * warming[0]
    assert off(warming) == noticed_at_once(warming) == []


def test_a_noisy_machine_has_a_larger_spread() -> None:
    noisy = [8.0, 10.4, 7.0, 9.0, 6.6, 10.2, 8.0, 7.2, 9.9]
    assert max(noisy) / 8.0 > 1 + LEAST_SPREAD
    assert off(noisy) == []
    assert off([*noisy, 18.0]) == [18.0]


@pytest.mark.parametrize("deviation", [0.05, 0.15, 0.4, 0.8])
def test_noise_of_any_size_costs_few_repetitions(deviation: float) -> None:
    """A search on a machine that is noisy throughout repeats nothing in vain."""
    rejected = [
        len(noticed_at_once(list(np.exp(np.random.default_rng(seed).normal(0, deviation, 60)))))
        for seed in range(20)
    ]
    assert sum(rejected) / (20 * 60) < 0.08


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
def test_a_second_level_is_noticed_however_often_it_comes(share: float) -> None:
    """Shares as large as were seen: a third of the runs of a free caller were slow."""
    noticed = slow = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        is_slow = rng.random(60) < share
        level = level_of(list(8.0 * np.exp(rng.normal(0, 0.05, 60)) * np.where(is_slow, 1.8, 1)))
        noticed += sum(level.is_off(int(at)) for at in np.flatnonzero(is_slow))
        slow += int(is_slow.sum())
    assert noticed / slow > (0.9 if share < 0.4 else 0.6)


@given(st.lists(LATENCIES, min_size=1, max_size=40))
def test_some_measurement_is_always_on_its_level(series: list[float]) -> None:
    """A search never rejects everything, however its baseline behaves."""
    assert len(off(series)) < len(series)


@given(st.lists(LATENCIES, min_size=1, max_size=40), st.data())
def test_a_small_distance_is_never_off(series: list[float], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(series) - 1))
    level = level_of(series)
    shift = max(level.shift(index), 1 / level.shift(index))
    if shift < (1 + LEAST_SPREAD) * 0.999:
        assert not level.is_off(index)


@given(st.lists(LATENCIES, min_size=1, max_size=30), st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(series: list[float], unit: float) -> None:
    one, other = level_of(series), level_of([latency * unit for latency in series])
    for index in range(len(series)):
        assert one.shift(index) == pytest.approx(other.shift(index), rel=1e-6)


@given(st.lists(st.floats(0.9, 1.1), min_size=1, max_size=60))
def test_a_quiet_series_is_believed_throughout(factors: list[float]) -> None:
    assert noticed_at_once(factors) == off(factors) == []


@given(LATENCIES, st.integers(1, 30))
def test_a_lasting_change_is_believed_before_long(latency: float, length: int) -> None:
    series = [latency] * length + [latency * 3] * WINDOW
    assert (length + WINDOW - 1) not in noticed_at_once(series)
    rejected = [index for index in noticed_at_once(series) if index >= length]
    assert len(rejected) <= WINDOW // 2 + 1
    assert all(later == earlier + 1 for earlier, later in pairwise(rejected))
