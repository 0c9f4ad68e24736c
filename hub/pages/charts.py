"""Small plots as inline SVG, drawn on the server: they work without JavaScript and print.

Colours come from classes of the style sheet (``one``, ``two``), and so follow light and dark.
Each plot has a title and, where useful, a description for screen readers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH = 640
_COURSE_HEIGHT, _COURSE_FLOOR = 240, 214
_LEFT, _MARGIN = 46, 12
#: Ticks of the logarithmic ratio axis.
_TICKS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)


@dataclass(frozen=True, slots=True)
class Point:
    """A trial in a plot of a search.

    Attributes:
        number: Number of the trial; the smallest is at the left edge.
        ratio: Latency over the baseline's latency; ``None`` for a failed candidate.
        low, high: Its 95 % interval.
        label: Tooltip.
    """

    number: int
    ratio: float | None
    low: float | None
    high: float | None
    label: str


def interval(
    ratio: float, low: float, high: float, *, least: float = 0.0, most: float = 1.5
) -> SafeString:
    """A ratio and its interval on an axis from ``least`` to ``most`` with a mark at 1."""
    width, height = 160, 18

    def x(value: float) -> float:
        return 4 + (width - 8) * (min(max(value, least), most) - least) / (most - least)

    return format_html(
        '<svg class="plot interval" viewBox="0 0 {w} {h}" role="img">'
        "<title>{ratio} times the baseline latency, 95 % interval {low} to {high}</title>"
        '<line class="axis" x1="4" x2="{end}" y1="9" y2="9"/>'
        '<line class="grid-line" x1="{one}" x2="{one}" y1="1" y2="17"/>'
        '<line class="one whisker" x1="{lo}" x2="{hi}" y1="9" y2="9"/>'
        '<circle class="one bar" cx="{at}" cy="9" r="4"/></svg>',
        w=width,
        h=height,
        end=width - 4,
        one=_r(x(1.0)),
        lo=_r(x(low)),
        hi=_r(x(high)),
        at=_r(x(ratio)),
        ratio=f"{ratio:.3f}",
        low=f"{low:.3f}",
        high=f"{high:.3f}",
    )


def search_course(points: Sequence[Point]) -> SafeString:
    """Log ratio of each trial of a search by its number, and the best so far as a line."""
    measured = [point for point in points if point.ratio]
    if not measured:
        return SafeString("")
    ratios = [point.ratio or 1.0 for point in measured]
    frame = _Frame.around(points, [*ratios, 1.0])
    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" role="img"><title>Course of the search</title>'
        "<desc>Latency ratio to the baseline of {n} measured candidates; the best is {best}.</desc>"
        '{grid}<path class="two line" d="{line}"/>{dots}{failed}'
        '<text x="{end}" y="{foot}" text-anchor="end">trial</text></svg>',
        w=_WIDTH,
        h=_COURSE_HEIGHT,
        n=len(measured),
        best=f"{min(ratios):.3f}",
        grid=_grid(frame),
        line=_best_so_far(measured, frame),
        dots=_dots(measured, frame),
        failed=_crosses([point for point in points if not point.ratio], frame),
        end=_WIDTH - _MARGIN,
        foot=_COURSE_HEIGHT - 6,
    )


@dataclass(frozen=True, slots=True)
class _Frame:
    first: int
    count: int
    least: float
    most: float

    @classmethod
    def around(cls, points: Sequence[Point], ratios: Sequence[float]) -> "_Frame":
        numbers = [point.number for point in points]
        first = min(numbers)
        return cls(first, max(numbers) - first + 1, min(ratios) / 1.08, max(ratios) * 1.08)

    def x(self, number: float) -> str:
        share = (number - self.first + 0.5) / self.count
        return _r(_LEFT + (_WIDTH - _LEFT - _MARGIN) * share)

    def y(self, ratio: float) -> str:
        inside = min(max(ratio, self.least), self.most)
        share = math.log(inside / self.least) / math.log(self.most / self.least)
        return _r(_COURSE_FLOOR - (_COURSE_FLOOR - 8) * share)


def _grid(frame: _Frame) -> SafeString:
    return format_html_join(
        "",
        '<line class="grid-line" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text x="{}" y="{}" dy="4" text-anchor="end">{}×</text>',
        (
            (_LEFT, _WIDTH - _MARGIN, frame.y(tick), frame.y(tick), _LEFT - 6, frame.y(tick), tick)
            for tick in _TICKS
            if frame.least <= tick <= frame.most
        ),
    )


def _dots(measured: Sequence[Point], frame: _Frame) -> SafeString:
    return format_html_join(
        "",
        '<g><title>{}</title><line class="one whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<circle class="one bar" cx="{}" cy="{}" r="3.5"/></g>',
        (
            (
                point.label,
                *(frame.x(point.number),) * 2,
                frame.y(point.low or point.ratio or 1.0),
                frame.y(point.high or point.ratio or 1.0),
                frame.x(point.number),
                frame.y(point.ratio or 1.0),
            )
            for point in measured
        ),
    )


def _crosses(failed: Sequence[Point], frame: _Frame) -> SafeString:
    return format_html_join(
        "",
        '<g><title>{}</title><path class="failed" d="M{} {}m-3 -3l6 6m0-6l-6 6"/></g>',
        ((point.label, frame.x(point.number), _COURSE_FLOOR - 5) for point in failed),
    )


def _best_so_far(measured: Sequence[Point], frame: _Frame) -> str:
    best = math.inf
    steps: list[str] = []
    for point in sorted(measured, key=lambda point: point.number):
        ratio = point.ratio or 1.0
        if ratio >= best:
            continue
        best = ratio
        at, height = frame.x(point.number), frame.y(ratio)
        steps.append(f"H{at}V{height}" if steps else f"M{at} {height}")
    return "".join(steps) + f"H{frame.x(max(point.number for point in measured))}"


def histogram(one: Sequence[float], two: Sequence[float], unit: str) -> SafeString:
    """Histograms of two samples on one axis, the first above and the second below it.

    The last bin includes all values above the 98th percentile of both.
    """
    if not one or not two:
        return SafeString("")
    height, left, middle = 190, 12, 84
    both = sorted([*one, *two])
    least, most = both[0], both[min(len(both) - 1, int(len(both) * 0.98))]
    span = (most - least) or 1.0
    bins = 48

    def counts(sample: Sequence[float]) -> list[float]:
        numbers = [0] * bins
        for value in sample:
            numbers[min(int((min(value, most) - least) / span * bins), bins - 1)] += 1
        top = max(numbers) or 1
        return [count / top for count in numbers]

    step = (_WIDTH - 2 * left) / bins
    bars = format_html_join(
        "",
        '<rect class="{} bar" x="{}" y="{}" width="{}" height="{}"/>',
        [
            ("one", _r(left + i * step), _r(middle - share * 76), _r(step - 1), _r(share * 76))
            for i, share in enumerate(counts(one))
            if share
        ]
        + [
            ("two", _r(left + i * step), middle + 1, _r(step - 1), _r(share * 76))
            for i, share in enumerate(counts(two))
            if share
        ],
    )
    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" role="img">'
        "<title>Distribution of latencies</title>"
        '{bars}<line class="axis" x1="{left}" x2="{end}" y1="{m}" y2="{m}"/>'
        '<text x="{left}" y="{foot}">{least} {unit}</text>'
        '<text x="{end}" y="{foot}" text-anchor="end">{most} {unit}</text></svg>',
        w=_WIDTH,
        h=height,
        bars=bars,
        left=left,
        end=_WIDTH - left,
        m=middle,
        foot=height - 6,
        least=f"{least:.3g}",
        most=f"{most:.3g}",
        unit=unit,
    )


def _r(value: float) -> str:
    return f"{value:.1f}"
