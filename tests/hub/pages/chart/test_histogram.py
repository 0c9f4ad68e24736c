"""Distributions of two samples on one axis that outliers do not stretch."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import chart
from tests.hub.pages.chart.checks import checked, marks, series

samples = st.lists(st.floats(1, 1e10), min_size=1, max_size=99)


@given(samples, samples)
def test_every_sample_is_counted_once(build: list[float], default: list[float]) -> None:
    made = checked(chart.histogram(build, default))
    for column, sample in ((2, build), (3, default)):
        assert sum(int(str(row[column])) for row in made.rows) == len(sample)


def test_one_long_sample_does_not_make_one_bar_of_the_others() -> None:
    made = checked(chart.histogram([1000 + n for n in range(400)], [*range(2000, 2400), 10**9]))
    assert len(series(made, "this build")["data"]) > 5
    assert "1 of 801 samples" in made.caption
    assert "longest took 1.00 s" in made.caption
    assert made.rows[-1][1] == ""


def test_sides_that_differ_much_have_a_logarithmic_axis() -> None:
    made = checked(chart.histogram([1000 + n for n in range(99)], [50_000 + n for n in range(99)]))
    assert "logarithmic" in made.caption
    assert made.option["xAxis"]["max"] < 6
    near = checked(chart.histogram([1000 + n for n in range(99)], [1500 + n for n in range(99)]))
    assert "logarithmic" not in near.caption


def test_both_medians_are_drawn_and_told() -> None:
    made = checked(chart.histogram([1000, 1100, 1200], [2000, 2100, 2200]))
    assert series(made, "median of this build")["data"][0][0] == pytest.approx(1100)
    assert series(made, "median of default")["data"][1][1] < 0
    assert [key.name for key in made.keys] == [
        "this build, median 1.10 µs",
        "default, median 2.10 µs",
    ]


def test_bars_of_the_default_grow_downwards() -> None:
    made = checked(chart.histogram([1000, 1100], [2000, 2100]))
    signs = {
        name: series(made, name)["data"][0]["value"][2] > 0 for name in ("this build", "default")
    }
    assert signs == {"this build": True, "default": False}
    assert len(marks(made)) == 4


def test_equal_samples_have_a_width() -> None:
    checked(chart.histogram([1000.0] * 9, [1000.0] * 9))


def test_nothing_measured_is_no_histogram() -> None:
    assert chart.histogram([], [1.0]) is None
    assert chart.histogram([0.0], [1.0]) is None
