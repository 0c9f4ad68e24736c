"""Durations of runs: each drawn once, with the median."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import chart
from tests.hub.pages.chart.checks import checked, marks, series


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=200))
def test_every_run_is_drawn_and_listed(samples_ns: list[int]) -> None:
    made = checked(chart.run_durations(samples_ns))
    assert len(series(made, "runs")["data"]) == len(made.rows) == len(samples_ns)


def test_the_median_is_drawn_and_described() -> None:
    made = checked(chart.run_durations([1_000_000, 3_000_000, 2_000_000]))
    assert "Median 2.00 ms of 3 runs, from 1.00 ms to 3.00 ms" in made.description
    assert series(made, "median")["data"][0][1] == pytest.approx(2_000_000)
    assert marks(made)[0]["tip"] == ["run 1", "1.00 ms"]
    assert "logarithmic" in checked(chart.run_durations([1, 100])).caption


def test_without_runs_there_is_no_chart() -> None:
    assert chart.run_durations([]) is None
