"""Builds of a target by latency and exactness."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import chart
from registry.statistics.front import pareto_front
from registry.tables import Build, Record
from tests.hub.pages.chart.checks import checked, marks, series

points = st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), max_size=30)


def build(tolerance: str, ratio: float, error: float | None, **columns: Any) -> Build:
    """A build of a network whose default takes 10 µs."""
    deviation = {} if error is None else {"relative_l2": error}
    return Build(
        tolerance=tolerance,
        ratio=ratio,
        p50_ns=round(10_000 * ratio),
        deviation=deviation,
        candidate={"backend": "openvino", "options": {"precision": tolerance}},
        record=Record(ratio_low=ratio * 0.98, ratio_high=ratio * 1.03),
        **columns,
    )


@pytest.fixture
def default() -> Build:
    return build("exact", 1.0, 3e-7, is_baseline=True)


def test_every_build_is_a_mark_that_can_be_chosen(default: Build) -> None:
    builds = [build("exact", 0.8, 4e-7), build("int8", 0.48, 0.014)]
    made = checked(chart.pareto(builds, default, chosen=str(builds[1].uuid)))
    assert {mark["id"] for mark in marks(made)} == {str(b.uuid) for b in [*builds, default]}
    assert made.chosen == str(builds[1].uuid)
    tip = next(mark["tip"] for mark in marks(made) if mark["id"] == str(builds[1].uuid))
    assert tip[0] == "int8: openvino"
    assert "2.1 times as fast" in tip
    assert "outputs differ by 1.4 %" in tip
    assert [row[0].text for row in made.rows] == ["openvino", "openvino", "openvino, default"]  # type: ignore[union-attr]
    assert "4.80 µs, the default 10.0 µs in the same run: openvino, int8" in made.description
    assert made.description.endswith("2.1 times as fast.")


def test_the_default_is_listed_once_and_drawn_as_a_line(default: Build) -> None:
    made = checked(chart.pareto([default, build("exact", 0.8, 4e-7)], default))
    assert len(marks(made)) == 2
    (low, high) = series(made, "default")["data"]
    assert low[0] == high[0] == 0  # log10 of 1


def test_builds_of_runs_at_other_speeds_are_compared_by_their_own_default(default: Build) -> None:
    """A later run on a slower machine: its build takes longer, and so does its default."""
    slower, faster = build("exact", 0.5, 4e-7), build("exact", 0.8, 4e-7)
    slower.p50_ns *= 4
    made = checked(chart.pareto([faster, slower], default))
    places = {mark["id"]: mark["value"][0] for mark in marks(made)}
    assert places[str(slower.uuid)] < places[str(faster.uuid)]
    assert [row[3:5] for row in made.rows] == [
        ("20.0 µs", "40.0 µs"),
        ("8.00 µs", "10.0 µs"),
        ("10.0 µs", ""),
    ]
    assert made.description.startswith("3 builds. The fastest takes 20.0 µs, the default 40.0 µs")


def test_lost_accuracy_is_shown_where_a_build_loses_some(default: Build) -> None:
    accuracy = {"accuracy_reference": 0.986}
    exact = build("exact", 1.0, 3e-7, is_baseline=True, accuracy=0.986, **accuracy)
    same = build("int8", 0.5, 0.014, accuracy=0.986, **accuracy)
    worse = build("int8", 0.4, 0.02, accuracy=0.971, **accuracy)
    assert checked(chart.pareto([same], exact)).option["yAxis"]["name"].startswith("relative")
    made = checked(chart.pareto([same, worse], exact))
    assert made.option["yAxis"]["name"].startswith("lost accuracy")
    assert max(mark["value"][1] for mark in marks(made)) == pytest.approx(1.5)
    # One build without a figure: the others cannot be compared with it.
    assert "relative" in checked(chart.pareto([worse], default)).option["yAxis"]["name"]


def test_a_build_without_an_error_is_in_the_table_only(default: Build) -> None:
    made = checked(chart.pareto([build("exact", 0.8, None)], default))
    assert len(marks(made)) == 1
    assert len(made.rows) == 2
    assert "1 of 2 builds state no error" in made.caption


def test_errors_of_zero_have_a_place(default: Build) -> None:
    checked(chart.pareto([build("exact", 0.8, 0.0)], default))


def test_no_build_with_an_error_is_no_chart() -> None:
    assert chart.pareto([], None) is None
    bare = build("exact", 1.0, None, is_baseline=True)
    assert chart.pareto([bare, build("exact", 0.8, None)], bare) is None


@given(points)
def test_the_front_is_what_no_point_beats(given_points: list[tuple[float, float]]) -> None:
    best = pareto_front(given_points)
    assert best == sorted(best)
    for point in given_points:
        assert any(x <= point[0] and y <= point[1] for x, y in best)
    for x, y in best:
        assert not any(a <= x and b <= y and (a, b) != (x, y) for a, b in given_points)
