"""Distributions of the latencies of a build and of the default, with both medians."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from hub.pages.chart.axis import Axis, percent_label, time_label
from hub.pages.chart.figure import Chart, Key, Option, TableColumn, line, plain_option, series_color
from hub.templatetags.figures import latency

_BINS = 48
#: Share of each side's samples that may lie outside of the axis, at either end.
_CLIPPED = 0.01
#: Factor between the ends of the axis from which it is logarithmic.
_LOG_FROM = 5.0
_NAMES = ("this build", "default")


def histogram(
    build_ns: Sequence[float], default_ns: Sequence[float], *, name: str = "histogram"
) -> Chart | None:
    """Shares of both samples by latency: the build's grow upwards, the default's downwards.

    The few longest and shortest samples are left out and counted; the axis is logarithmic if the
    rest differ by more than a factor of five. ``None`` if a side has no positive sample.
    """
    sides = [sorted(ns for ns in sample if ns > 0) for sample in (build_ns, default_ns)]
    if not all(sides):
        return None
    x = _time_axis(sides)
    edges = _edges(x)
    counts = [_counts(side, edges) for side in sides]
    shares = [
        [100 * count / len(side) for count in row] for side, row in zip(sides, counts, strict=True)
    ]
    top = 1.1 * max(max(row) for row in shares)
    y = Axis("share of the samples", -top, top, percent_label)
    medians = [median(side) for side in sides]
    return Chart(
        name=name,
        title="Latencies of all samples",
        description=(
            f"Median of this build: {latency(medians[0])}, of {len(sides[0])} samples. "
            f"Median of the default: {latency(medians[1])}, of {len(sides[1])} samples."
        ),
        caption=_caption(x, sides),
        option=plain_option(
            x.option(),
            y.option(is_vertical=True),
            [_bins(number, (edges, counts[number], shares[number]), x) for number in (0, 1)]
            + [_median_line(number, x.at(medians[number]), top) for number in (0, 1)],
        ),
        columns=(
            TableColumn("From", is_number=True),
            TableColumn("To", is_number=True),
            TableColumn("Samples of this build", is_number=True),
            TableColumn("Samples of the default", is_number=True),
        ),
        rows=_rows(x, edges, counts, sides),
        keys=tuple(
            Key(f"{label}, median {latency(medians[number])}", "rect", series_color(number))
            for number, label in enumerate(_NAMES)
        ),
        height=300,
    )


def _time_axis(sides: Sequence[Sequence[float]]) -> Axis:
    """The axis of both samples, each sorted, without their outliers."""
    low = min(_quantile(side, _CLIPPED) for side in sides)
    high = max(_quantile(side, 1 - _CLIPPED) for side in sides)
    low, high = (low * 0.98, high * 1.02) if low < high else (low * 0.95, high * 1.05)
    return Axis("latency", low, high, time_label, is_log=high > low * _LOG_FROM)


def _median_line(number: int, at: float, top: float) -> Option:
    ends = [[at, 0.0], [at, _sign(number) * top]]
    # Not in the colour of its bars, which it crosses; its direction tells the side.
    return line(f"median of {_NAMES[number]}", ends, "ink", lineStyle={"type": "dashed"})


def _quantile(values: Sequence[float], share: float) -> float:
    """The value at a share of sorted values."""
    return values[min(round(share * (len(values) - 1)), len(values) - 1)]


def _sign(number: int) -> int:
    return -1 if number else 1


def _edges(x: Axis) -> list[float]:
    """Edges of the bins, equally far apart on the axis."""
    steps = range(1, _BINS)
    if x.is_log:
        inner = [x.low * (x.high / x.low) ** (step / _BINS) for step in steps]
    else:
        inner = [x.low + (x.high - x.low) * step / _BINS for step in steps]
    return [x.low, *inner, x.high]


def _counts(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """Numbers of sorted values by bin; bins include their lower edge, the last one both edges."""
    at = [bisect_left(values, edge) for edge in edges[:-1]]
    at.append(bisect_right(values, edges[-1]))
    return [later - earlier for earlier, later in pairwise(at)]


def _bins(number: int, bins: tuple[list[float], list[int], list[float]], x: Axis) -> Option:
    edges, counts, shares = bins
    label = _NAMES[number]
    marks = [
        {
            "value": [x.at(edges[at]), x.at(edges[at + 1]), _sign(number) * round(share, 4)],
            "tip": [
                f"{latency(edges[at])} to {latency(edges[at + 1])}",
                f"{label}: {counts[at]} of the samples, {share:.1f} %",
            ],
        }
        for at, share in enumerate(shares)
        if share
    ]
    return {
        "id": label,
        "name": label,
        "type": "custom",
        "renderItem": "bin",
        "clip": True,
        "encode": {"x": [0, 1], "y": 2},
        "itemStyle": {"color": f"--{series_color(number)}"},
        "data": marks,
    }


def _outside(x: Axis, side: Sequence[float]) -> tuple[int, int]:
    """Numbers of sorted samples below and above the axis."""
    return bisect_left(side, x.low), len(side) - bisect_right(side, x.high)


def _rows(
    x: Axis, edges: Sequence[float], counts: Sequence[list[int]], sides: Sequence[list[float]]
) -> tuple[tuple[str, ...], ...]:
    below, above = zip(*(_outside(x, side) for side in sides), strict=True)
    rows = [
        (latency(edges[at]), latency(edges[at + 1]), *(str(row[at]) for row in counts))
        for at in range(_BINS)
        if any(row[at] for row in counts)
    ]
    if any(below):
        rows.insert(0, ("", latency(x.low), *map(str, below)))
    if any(above):
        rows.append((latency(x.high), "", *map(str, above)))
    return tuple(rows)


def _caption(x: Axis, sides: Sequence[list[float]]) -> str:
    text = "Shares of this build's samples upwards, of the default's downwards; dashed: medians."
    if x.is_log:
        text += " The axis is logarithmic."
    clipped = sum(sum(_outside(x, side)) for side in sides)
    if clipped:
        longest = max(side[-1] for side in sides)
        text += (
            f" {clipped} of {sum(map(len, sides))} samples lie outside of the axis;"
            f" the longest took {latency(longest)}."
        )
    return text
