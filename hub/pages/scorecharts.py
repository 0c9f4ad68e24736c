"""Charts of FAIR scores as inline SVG, over time and over records; see :mod:`hub.pages.charts`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

_WIDTH, _HEIGHT = 640, 200
_LEFT, _RIGHT, _TOP, _FLOOR = 46, 12, 10, 172
_TICKS = (0, 25, 50, 75, 100)
_BANDS = 10
_STEP = (_WIDTH - _LEFT - _RIGHT) / _BANDS


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One assessment run as a point: ``percent`` from 0 to 100, ``label`` as tooltip."""

    at: datetime
    percent: float
    label: str


def course(runs: Sequence[ScoredRun]) -> SafeString:
    """Scores over time as a step line, oldest first; empty for fewer than two runs."""
    if len(runs) < 2:
        return SafeString("")
    first, last = runs[0].at, runs[-1].at
    span_s = (last - first).total_seconds() or 1.0

    def x(run: ScoredRun) -> str:
        share = (run.at - first).total_seconds() / span_s
        return f"{_LEFT + (_WIDTH - _LEFT - _RIGHT) * share:.1f}"

    start, *later = runs
    line = f"M{x(start)} {_y(start.percent)}"
    line += "".join(f"H{x(run)}V{_y(run.percent)}" for run in later)
    dots = format_html_join(
        "",
        '<circle class="one bar" cx="{}" cy="{}" r="3.5"><title>{}</title></circle>',
        ((x(run), _y(run.percent), run.label) for run in runs),
    )
    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" role="img"><title>FAIR score over time</title>'
        "<desc>{n} assessments; the first gave {a} % of the points, the last {b} %.</desc>"
        '{grid}<path class="one line" d="{line}"/>{dots}'
        '<text x="{left}" y="{foot}">{from_}</text>'
        '<text x="{end}" y="{foot}" text-anchor="end">{to}</text></svg>',
        w=_WIDTH,
        h=_HEIGHT,
        n=len(runs),
        a=f"{start.percent:.0f}",
        b=f"{runs[-1].percent:.0f}",
        grid=_grid(),
        line=line,
        dots=dots,
        left=_LEFT,
        end=_WIDTH - _RIGHT,
        foot=_HEIGHT - 8,
        from_=f"{first:%Y-%m-%d}",
        to=f"{last:%Y-%m-%d}",
    )


def distribution(percents: Sequence[int]) -> SafeString:
    """Histogram of records by percentage, in bands of ten; the last band includes 100.

    ``percents``: number of records per percentage, 0 to 100. Empty if all are zero.
    """
    if not any(percents):
        return SafeString("")
    bands = [sum(percents[10 * band : 10 * band + 10]) for band in range(_BANDS)]
    bands[-1] += sum(percents[100:])
    labels = format_html_join(
        "",
        '<text x="{}" y="{}" text-anchor="middle">{} %</text>',
        ((f"{_LEFT + band * _STEP:.1f}", _HEIGHT - 8, 10 * band) for band in range(_BANDS)),
    )
    return format_html(
        '<svg class="plot" viewBox="0 0 {w} {h}" role="img"><title>Records by FAIR score</title>'
        '<line class="axis" x1="{left}" x2="{end}" y1="{floor}" y2="{floor}"/>{bars}{labels}</svg>',
        w=_WIDTH,
        h=_HEIGHT,
        left=_LEFT,
        end=_WIDTH - _RIGHT,
        floor=_FLOOR,
        bars=_bars(bands),
        labels=labels,
    )


def _bars(bands: Sequence[int]) -> SafeString:
    reach = (_FLOOR - _TOP - 14) / max(bands)
    return format_html_join(
        "",
        '<g><title>{} to {} %: {}</title><rect class="one bar" x="{}" y="{}" width="{}" '
        'height="{}"/><text x="{}" y="{}" text-anchor="middle">{}</text></g>',
        (
            (
                10 * band,
                100 if band == _BANDS - 1 else 10 * band + 9,
                count,
                f"{_LEFT + band * _STEP + 2:.1f}",
                f"{_FLOOR - count * reach:.1f}",
                f"{_STEP - 4:.1f}",
                f"{count * reach:.1f}",
                f"{_LEFT + (band + 0.5) * _STEP:.1f}",
                f"{_FLOOR - count * reach - 4:.1f}",
                count,
            )
            for band, count in enumerate(bands)
            if count
        ),
    )


def _grid() -> SafeString:
    return format_html_join(
        "",
        '<line class="grid-line" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text x="{}" y="{}" dy="4" text-anchor="end">{} %</text>',
        (
            (_LEFT, _WIDTH - _RIGHT, _y(tick), _y(tick), _LEFT - 6, _y(tick), tick)
            for tick in _TICKS
        ),
    )


def _y(percent: float) -> str:
    return f"{_FLOOR - (_FLOOR - _TOP) * percent / 100:.1f}"
