"""Axes have round ticks, few enough to be read, and hold for any range."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages.chart.axis import (
    Axis,
    error_label,
    linear_ticks,
    log_axis,
    log_ticks,
    percent_label,
    ratio_label,
    time_label,
)

lows, factors = st.floats(1e-6, 1e9), st.floats(1.001, 1e9)


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 10, [0, 2, 4, 6, 8, 10]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        (-3, 3, [-3, -2, -1, 0, 1, 2, 3]),
        (5, 5, [5]),
    ],
)
def test_linear_ticks_are_multiples_of_a_round_step(
    low: float, high: float, ticks: list[float]
) -> None:
    assert linear_ticks(low, high) == ticks


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (1, 10_000, [1, 10, 100, 1000, 10_000]),
        (0.4, 2.1, [0.5, 0.7, 1, 1.5, 2]),
        (8_000, 120_000, [10_000, 20_000, 50_000, 100_000]),
        (0.9, 1.1, [0.9, 0.95, 1.0, 1.05, 1.1]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_round_within_decades(
    low: float, high: float, ticks: list[float]
) -> None:
    assert log_ticks(low, high) == pytest.approx(ticks)


@given(lows, factors)
def test_every_axis_has_a_few_ticks_inside_of_it(low: float, factor: float) -> None:
    for axis in (Axis("", low, low * factor), log_axis("", [low, low * factor])):
        ticks = axis.ticks()
        assert 1 <= len(ticks) <= 10
        slack = 1e-6 * (abs(axis.low) + abs(axis.high))
        assert all(axis.low - slack <= tick <= axis.high + slack for tick in ticks)


def test_values_outside_are_moved_to_the_end() -> None:
    axis = Axis("", 1.0, 100.0, is_log=True)
    assert [axis.at(value) for value in (0.1, 1.0, 10.0, 1e6)] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("label", "text"),
    [
        (time_label(8_300), "8.3 µs"),
        (time_label(2e9), "2 s"),
        (time_label(0), "0 ns"),
        (ratio_label(0.5), "0.5×"),
        (percent_label(-20), "20 %"),
        (error_label(0.014), "1.4 %"),
        (error_label(0), "0 %"),
        (error_label(2e-6), "2e-6"),
    ],
)
def test_labels(label: str, text: str) -> None:
    assert label == text
