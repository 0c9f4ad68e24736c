"""What holds for every chart: storable JSON, colours and marks that exist, a whole table."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.template.loader import render_to_string

from hub.pages.chart.figure import Chart

_HUB = Path(__file__).parents[4] / "hub"
_COLORS = set(re.findall(r"(--[\w-]+):", (_HUB / "static/hub/hub.css").read_text()))
_MARKS = (_HUB / "assets/chart/marks.js").read_text()


def checked(chart: Chart | None) -> Chart:
    """The chart, after all that the script and the partial rely on was asserted."""
    assert chart is not None
    json.dumps(chart.option, allow_nan=False)
    for key, value in _leaves(chart.option):
        if key.lower().endswith("color") and isinstance(value, str):
            assert value in _COLORS, value
        if key == "renderItem":
            assert re.search(rf"\b{value}\b", _MARKS), value
    for axis in _axes(chart.option):
        label = axis.get("axisLabel", {})
        assert len(label.get("texts", ())) == len(label.get("customValues", ()))
        if axis["type"] == "value" and "max" in axis:
            assert axis["min"] < axis["max"]
    assert all(len(row) == len(chart.columns) for row in chart.rows)
    assert {f"--{key.color}" for key in chart.keys} <= _COLORS
    html = render_to_string("partials/chart.html", {"chart": chart})
    assert f'id="{chart.name}-plot"' in html
    assert html.count("<tr>") == len(chart.rows) + 1
    return chart


def series(chart: Chart, name: str) -> dict[str, Any]:
    """The series of that id."""
    return next(one for one in chart.option["series"] if one["id"] == name)


def marks(chart: Chart) -> list[dict[str, Any]]:
    """All marks that have a tooltip."""
    return [
        mark
        for one in chart.option["series"]
        for mark in one["data"]
        if isinstance(mark, dict) and mark.get("tip")
    ]


def _axes(option: dict[str, Any]) -> list[dict[str, Any]]:
    axes = [option["xAxis"], option["yAxis"]]
    return [one for axis in axes for one in (axis if isinstance(axis, list) else [axis])]


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for inner_key, inner in value.items():
            yield from _leaves(inner, inner_key)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, key)
    else:
        yield key, value
