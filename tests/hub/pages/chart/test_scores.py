"""FAIR scores over time and over all records."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from hub.pages import chart
from tests.hub.pages.chart.checks import checked, marks

START = datetime(2026, 1, 2, tzinfo=UTC)
looks = st.lists(st.tuples(st.integers(0, 10**8), st.floats(0, 100)), min_size=2, max_size=20)


def run(at_s: int, percent: float) -> chart.ScoredRun:
    version = chart.LinkedText("abc", "?revision=abc")
    return chart.ScoredRun(
        START + timedelta(seconds=at_s), percent, f"<{percent}>", "5 of 9", version
    )


@given(looks)
def test_every_run_is_marked(values: list[tuple[int, float]]) -> None:
    made = checked(chart.history([run(at, percent) for at, percent in sorted(values)]))
    assert len(marks(made)) == len(made.rows) == len(values)


def test_one_run_is_no_history() -> None:
    assert chart.history([run(0, 50)]) is None
    assert chart.history([]) is None


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9), min_size=101, max_size=101))
def test_every_record_is_in_one_band(percents: list[int]) -> None:
    made = chart.distribution(percents)
    if not any(percents):
        assert made is None
        return
    (only,) = checked(made).option["series"]
    assert sum(mark["value"] for mark in only["data"]) == sum(percents)
    assert len(only["data"]) == 10


def test_all_points_are_in_the_highest_band() -> None:
    made = checked(chart.distribution([0] * 100 + [3]))
    assert made.rows[-1] == ("90–100 %", "3")
