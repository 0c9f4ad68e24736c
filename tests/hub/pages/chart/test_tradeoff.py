"""Builds by what they cost and what they are worth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import chart
from hub.pages.chart.figure import TableColumn
from hub.pages.chart.tradeoff import Point, Scale, tradeoff
from tests.hub.pages.chart.checks import checked, marks, series

COLUMNS = (TableColumn("Build"),)
COST, ERROR = Scale("latency"), Scale("error")
ACCURACY = Scale("accuracy", is_high_better=True, is_log=False)


def point(name: str, x: float | None, y: float | None, width: float = 0.0) -> Point:
    low = (x or 1.0) * (1 - width)
    return Point(name, name[0], x, y, low, (x or 1.0) * (1 + width), (name,), (name,))


def drawn(points: list[Point], y: Scale = ERROR) -> "chart.Chart":
    return checked(tradeoff(points, COST, y, COLUMNS, name="t", title="T"))


def faded(made: "chart.Chart") -> set[str]:
    return {mark["id"] for mark in marks(made) if "itemStyle" in mark}


def test_beaten_builds_are_faded() -> None:
    made = drawn([point("a1", 1, 3), point("a2", 2, 1), point("b", 3, 2), point("c", 2, 4)])
    assert faded(made) == {"b", "c"}
    tips = {mark["id"]: mark["tip"] for mark in marks(made)}
    assert tips["a1"] == ["a1", "on the Pareto front"]
    assert tips["b"] == ["b"]


def test_higher_is_better_where_the_scale_says_so() -> None:
    made = drawn([point("a", 1, 0.9), point("b", 2, 0.95), point("c", 3, 0.94)], ACCURACY)
    assert faded(made) == {"c"}
    assert made.caption.startswith("Upper left is better")


def test_what_has_no_figure_is_in_the_table_only() -> None:
    made = drawn([point("a", 1, 1), point("b", 1, None), point("c", None, 1), point("d", 0, 1)])
    assert [mark["id"] for mark in marks(made)] == ["a"]
    assert len(made.rows) == 4
    assert "3 of 4 builds have no figure" in made.caption
    assert tradeoff([point("b", 1, None)], COST, ERROR, COLUMNS, name="t", title="T") is None


def test_intervals_are_drawn_where_they_have_a_width() -> None:
    made = drawn([point("a", 1, 1), point("b", 2, 2, width=0.1)])
    with pytest.raises(StopIteration):
        next(one for one in made.option["series"] if one["id"] == "whiskers a")
    assert len(next(one for one in made.option["series"] if one["id"] == "whiskers b")["data"]) == 1
    assert series(made, "Pareto front")["data"]


@given(
    st.lists(
        st.tuples(st.floats(1e-9, 1e12), st.floats(0, 1)), min_size=1, max_size=20, unique=True
    )
)
def test_every_mark_is_on_the_front_or_beaten(values: list[tuple[float, float]]) -> None:
    points = [point(f"p{number}", x, y) for number, (x, y) in enumerate(values)]
    made = drawn(points, ACCURACY)
    beaten = faded(made)
    for one in points:
        is_beaten = any(
            other.x <= one.x and other.y >= one.y and (other.x, other.y) != (one.x, one.y)  # type: ignore[operator]
            for other in points
        )
        assert (one.id in beaten) == is_beaten
