"""Plots of scores are drawn on the server, and hold for any scores."""

import xml.etree.ElementTree as ET
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from hub.pages import scorecharts

START = datetime(2026, 1, 2, tzinfo=UTC)
looks = st.lists(st.tuples(st.integers(0, 10**8), st.floats(0, 100)), min_size=2, max_size=20)


def drawn(svg: str) -> ET.Element:
    """Parsed, so well-formed."""
    return ET.fromstring(svg)  # noqa: S314 - our own


@given(looks)
def test_every_look_is_marked_inside_the_plot(found: list[tuple[int, float]]) -> None:
    points = [
        scorecharts.ScoredRun(START + timedelta(seconds=at), percent, f"<{percent}>")
        for at, percent in sorted(found)
    ]
    root = drawn(scorecharts.course(points))
    circles = root.findall(".//circle")
    assert [one.find("title").text for one in circles] == [one.label for one in points]  # type: ignore[union-attr]
    assert all(46 <= float(one.attrib["cx"]) <= 628 for one in circles)
    assert all(10 <= float(one.attrib["cy"]) <= 172 for one in circles)
    title = root.find("title")
    assert title is not None
    assert title.text == "FAIR score over time"


def test_one_look_is_no_course() -> None:
    assert not scorecharts.course([scorecharts.ScoredRun(START, 50, "once")])
    assert not scorecharts.course([])


@settings(max_examples=25)
@given(st.lists(st.integers(0, 9), min_size=101, max_size=101))
def test_every_record_stands_in_one_band(percents: list[int]) -> None:
    svg = scorecharts.distribution(percents)
    if not any(percents):
        assert not svg
        return
    counts = [int(group.find("text").text) for group in drawn(svg).findall(".//g")]  # type: ignore[union-attr,arg-type]
    assert sum(counts) == sum(percents)
    assert len(counts) <= 10


def test_all_points_stand_in_the_highest_band() -> None:
    svg = scorecharts.distribution([0] * 100 + [3])
    assert "90 to 100 %: 3" in svg
