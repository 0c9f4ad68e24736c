"""Parts of charts of the progress of a search: places of trials, the best so far, failures."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import accumulate
from math import inf
from statistics import quantiles
from typing import Protocol

from hub.pages.chart.axis import Axis
from hub.pages.chart.figure import Option, line

#: A trial is an outlier beyond this multiple of the upper quartile.
_OUTLIER = 2.0


class CoursePlace(StrEnum):
    """What the horizontal axis shows: the number of a trial, or the time that the trials took."""

    TRIAL = "trial"
    TIME = "time"


class _Numbered(Protocol):
    number: int
    duration_s: float


def places_of(trials: Sequence[_Numbered], by: CoursePlace) -> dict[int, float]:
    """CoursePlace of each trial by its number: the number itself, or the seconds at its end."""
    if by == CoursePlace.TRIAL:
        return {trial.number: float(trial.number) for trial in trials}
    ends = accumulate(trial.duration_s for trial in trials)
    return {trial.number: round(end, 3) for trial, end in zip(trials, ends, strict=True)}


def place_axis(places: Sequence[float], by: CoursePlace) -> Axis:
    """The horizontal axis around all places."""
    if by == CoursePlace.TRIAL:
        return Axis("trial", min(places) - 0.5, max(places) + 0.5)
    most = max(*places, 1e-3)
    return Axis("time of building and measuring", 0.0, most * 1.02, duration_label)


def duration_label(seconds: float) -> str:
    """Label of seconds: ``90 s``, ``5 min``, ``2.5 h``."""
    if abs(seconds) < 120:
        return f"{seconds:.4g} s"
    return f"{seconds / 60:.4g} min" if seconds < 7200 else f"{seconds / 3600:.4g} h"


def best_line(points: Iterable[tuple[float, float]], x: Axis, y: Axis) -> list[Option]:
    """The smallest value so far, as steps up to the end of the axis; nothing without points."""
    best, steps = inf, []
    for at, value in points:
        if value < best:
            best = value
            steps.append([at, y.at(value)])
    if not steps:
        return []
    steps.append([x.high, y.at(best)])
    return [line("best so far", steps, "ink", step="end")]


def rug(name: str, marks: Sequence[tuple[float, list[str]]], color: str) -> list[Option]:
    """Ticks at the lower edge, each a place with the lines of its tooltip; on a second vertical
    axis from 0 to 1."""
    if not marks:
        return []
    return [
        {
            "id": name,
            "name": name,
            "type": "scatter",
            "yAxisIndex": 1,
            "symbol": "rect",
            "symbolSize": [3, 14],
            "symbolOffset": [0, -8],
            "itemStyle": {"color": f"--{color}"},
            "data": [{"value": [at, 0], "tip": tip} for at, tip in marks],
        }
    ]


def cap_of(values: Sequence[float], least: float) -> float:
    """Largest value that is drawn at its place, ``least`` or more: outliers would flatten the
    rest."""
    if len(values) < 2:
        return inf
    cap = max(least, _OUTLIER * quantiles(values, n=4, method="inclusive")[2])
    return cap if max(values) > 1.2 * cap else inf
