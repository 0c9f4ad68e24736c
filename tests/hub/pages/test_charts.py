"""Plots are drawn on the server."""

import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.pages import charts

ratios = st.floats(0.01, 50)


def point(number: int, ratio: float | None) -> charts.Point:
    low, high = (ratio * 0.9, ratio * 1.1) if ratio else (None, None)
    return charts.Point(number, ratio, low, high, label=f"trial <{number}>")


def drawn(svg: str) -> ET.Element:
    """Parsed, so well-formed."""
    return ET.fromstring(svg)  # noqa: S314 - our own


@given(st.lists(st.none() | ratios, min_size=1, max_size=40))
def test_every_trial_of_a_search_is_marked(found: list[float | None]) -> None:
    svg = charts.search_course([point(number, ratio) for number, ratio in enumerate(found)])
    if not any(found):
        assert not svg
        return
    root = drawn(svg)
    assert len(root.findall(".//g")) == len(found)
    assert len(root.findall(".//circle")) == sum(ratio is not None for ratio in found)
    assert "nan" not in svg


@given(ratios)
def test_an_interval_stays_inside_its_plot(ratio: float) -> None:
    circle = drawn(charts.interval(ratio, ratio * 0.9, ratio * 1.1)).find(".//circle")
    assert circle is not None
    assert 0 <= float(circle.attrib["cx"]) <= 160


@given(st.lists(st.floats(0.001, 1e4), min_size=1, max_size=99))
def test_a_histogram_shows_both_sides(sample: list[float]) -> None:
    kinds = {bar.attrib["class"] for bar in drawn(charts.histogram(sample, sample, "ms")).iter()
             if bar.tag == "rect"}  # fmt: skip
    assert kinds == {"one bar", "two bar"}


def test_nothing_measured_is_no_histogram() -> None:
    assert not charts.histogram([], [1.0], "ms")


@pytest.mark.parametrize("label", ["<script>", 'a"b'])
def test_labels_are_escaped(label: str) -> None:
    made = charts.search_course([charts.Point(0, 0.5, 0.4, 0.6, label)])
    assert drawn(made).find(".//g/title").text == label  # type: ignore[union-attr]
