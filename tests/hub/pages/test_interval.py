"""The small mark of a ratio in tables."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from hub.pages.interval import interval_mark


@given(st.floats(0.01, 50))
def test_an_interval_stays_inside_its_plot(ratio: float) -> None:
    svg = ET.fromstring(interval_mark(ratio, ratio * 0.9, ratio * 1.1))  # noqa: S314 - our own
    circle = svg.find(".//circle")
    assert circle is not None
    assert 0 <= float(circle.attrib["cx"]) <= 160
