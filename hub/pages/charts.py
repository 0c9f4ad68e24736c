"""Small plots as inline SVG, drawn on the server: they work without JavaScript, print and copy.

Colours come from the style sheet's classes (``one``, ``two``), so plots follow light and dark.
Every plot carries a title and a description for those who do not see it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH = 640

_Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Point:
    """One trial in a plot of a search.

    Attributes:
        number: Of the trial; the first on the left, whatever its number.
        ratio: Latency over the baseline's; ``None`` where the candidate failed.
        low, high: Its 95 % interval.
        label: What a reader sees when pointing at it.
    """

    number: int
    ratio: float | None
    low: float | None
    high: float | None
    label: str


def interval(
    ratio: float, low: float, high: float, *, least: float = 0.0, most: float = 1.5
) -> SafeString:
    """A ratio with its interval on a line from ``least`` to ``most``, 1 (the baseline) marked."""
    width, height = 160, 18

    def x(value: float) -> float:
        return 4 + (width - 8) * (min(max(value, least), most) - least) / (most - least)

    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" style="max-width:{w}px" role="img">'
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
    """Trials of a search by number, log ratio upwards, with the best so far as a line."""
    measured = [point for point in points if point.ratio is not None and point.ratio > 0]
    if not measured:
        return SafeString("")
    height, left, bottom = 240, 46, 26
    ratios = [point.ratio or 1.0 for point in measured] + [1.0]
    least, most = min(ratios) / 1.08, max(ratios) * 1.08
    numbers = [point.number for point in points]
    first, count = min(numbers), max(numbers) - min(numbers) + 1

    def x(number: float) -> float:
        return left + (_WIDTH - left - 12) * (number - first + 0.5) / count

    def y(ratio: float) -> float:
        share = (math.log(ratio) - math.log(least)) / (math.log(most) - math.log(least))
        return (height - bottom) - (height - bottom - 8) * share

    grid = format_html_join(
        "",
        '<line class="grid-line" x1="{}" x2="{}" y1="{}" y2="{}"/><text x="{}" y="{}" '
        'text-anchor="end">{}×</text>',
        (
            (left, _WIDTH - 12, _r(y(tick)), _r(y(tick)), left - 6, _r(y(tick) + 4), f"{tick:g}")
            for tick in ratio_ticks(least, most)
        ),
    )
    dots = format_html_join(
        "",
        '<g><title>{}</title><line class="one whisker" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<circle class="one bar" cx="{}" cy="{}" r="3.5"/></g>',
        (
            (
                point.label,
                *(_r(x(point.number)),) * 2,
                _r(y(max(point.low or point.ratio or 1.0, least))),
                _r(y(min(point.high or point.ratio or 1.0, most))),
                _r(x(point.number)),
                _r(y(point.ratio or 1.0)),
            )
            for point in measured
        ),
    )
    failed = format_html_join(
        "",
        '<g><title>{}</title><path class="failed" d="M{} {}l6 6m0-6l-6 6"/></g>',
        (
            (point.label, _r(x(point.number) - 3), height - bottom - 8)
            for point in points
            if point.ratio is None
        ),
    )
    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" role="img"><title>Course of the search</title>'
        "<desc>Latency ratio to the baseline of {n} measured candidates; the best is {best}.</desc>"
        '{grid}<path class="two line" d="{line}"/>{dots}{failed}'
        '<text x="{end}" y="{foot}" text-anchor="end">trial</text></svg>',
        w=_WIDTH,
        h=height,
        n=len(measured),
        best=f"{min(ratios[:-1]):.3f}",
        grid=grid,
        line=_best_so_far(measured, x, y),
        dots=dots,
        failed=failed,
        end=_WIDTH - 12,
        foot=height - 6,
    )


def histogram(one: Sequence[float], two: Sequence[float], unit: str) -> SafeString:
    """Two samples over one axis: the first upwards, the second downwards, outliers clipped."""
    if not one or not two:
        return SafeString("")
    height, left, middle = 190, 12, 84
    both = sorted([*one, *two])
    least, most = both[0], both[min(len(both) - 1, int(len(both) * 0.98))]
    span = (most - least) or 1.0
    bins = 48

    def counts(sample: Sequence[float]) -> list[float]:
        found = [0] * bins
        for value in sample:
            found[min(int((min(value, most) - least) / span * bins), bins - 1)] += 1
        top = max(found) or 1
        return [count / top for count in found]

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


def ratio_ticks(least: float, most: float) -> list[float]:
    """Round ratios within a range, for a logarithmic axis; 1 is always among them."""
    wanted = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0)
    return [tick for tick in wanted if least <= tick <= most]


def _best_so_far(measured: Sequence[Point], x: _Scale, y: _Scale) -> str:
    best = math.inf
    steps: list[str] = []
    for point in sorted(measured, key=lambda point: point.number):
        ratio = point.ratio or 1.0
        if ratio < best:
            if steps:
                steps.append(f"H{_r(x(point.number))}V{_r(y(ratio))}")
            else:
                steps.append(f"M{_r(x(point.number))} {_r(y(ratio))}")
            best = ratio
    return "".join(steps) + f"H{_r(x(max(point.number for point in measured)))}"


def _r(value: float) -> str:
    return f"{value:.1f}"
