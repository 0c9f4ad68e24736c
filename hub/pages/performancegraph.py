"""The overlay that colours the graph of a network by what a build spends on its groups."""

from collections.abc import Sequence
from typing import Any, Protocol

from hub.templatetags.figures import count, latency, percent
from registry.selectors.analysis.performance import Group, Performance


class OverlayRow(Protocol):
    """A group with its label and its operations per second."""

    @property
    def group(self) -> Group: ...
    @property
    def label(self) -> str: ...
    @property
    def rate(self) -> float | None: ...


_UNITS = {"time": "ns", "share": "%", "rate": "FLOP/s"}
_NAMES = {"time": "time", "share": "share of time", "rate": "operations per second"}


def overlay(subject: Performance, rows: Sequence[OverlayRow], metric: str) -> dict[str, Any]:
    """The overlay of ``partials/graph.html``; groups without nodes are left out.

    Implausible times have no value, so that they are drawn as "no data".
    """
    return {
        "metric": _NAMES[metric],
        "unit": _UNITS[metric],
        "groups": [
            {
                "id": str(row.group.sequence),
                "label": row.label,
                "nodes": list(row.group.nodes),
                "value": _value(row, metric),
                "text": _text(row, metric),
                "grade": row.group.grade or "shared",
                "marks": [mark for mark in row.group.marks if mark != "tuned"],
            }
            for row in rows
            if row.group.nodes
        ],
        "folded": list(subject.profile.folded),
    }


def _value(row: OverlayRow, metric: str) -> float | None:
    if not row.group.is_plausible:
        return None
    match metric:
        case "time":
            return float(row.group.site.median_ns)
        case "share":
            return round(100 * row.group.share, 3)
    return row.rate


def _text(row: OverlayRow, metric: str) -> str:
    if not row.group.is_plausible:
        return "no valid time"
    match metric:
        case "time":
            return latency(row.group.site.median_ns)
        case "share":
            return percent(row.group.share)
    return "unknown" if row.rate is None else f"{count(row.rate)}FLOP/s"
