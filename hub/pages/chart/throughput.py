"""Samples per second by batch, of a build and of the defaults."""

from collections.abc import Sequence
from dataclasses import replace

from hub.pages.chart.axis import log_axis, plain
from hub.pages.chart.figure import (
    Chart,
    Option,
    TableColumn,
    keys_of,
    plain_option,
    series_color,
    series_symbol,
)
from registry.selectors.results.queries import SweepPoint

_NAMES = {"baseline": "default", "candidate": "build"}


def throughput_by_batch(points: Sequence[SweepPoint], *, name: str = "throughput") -> Chart | None:
    """Throughput by batch, a line for each side and number of streams; ``None`` without points."""
    if not points:
        return None
    batches = sorted({float(point.batch) for point in points})
    x = replace(log_axis("samples of a batch", batches), marks=tuple(batches))
    y = log_axis("samples per second", [point.throughput_per_s for point in points], margin=1.3)
    lines: dict[tuple[str, int], list[SweepPoint]] = {}
    for point in points:
        lines.setdefault((point.side, point.streams), []).append(point)
    series: list[Option] = []
    for number, ((side, streams), own) in enumerate(lines.items()):
        color = f"--{series_color(number)}"
        label = _label(side, streams)
        series.append(
            {
                "id": label,
                "name": label,
                "type": "line",
                "symbol": series_symbol(number),
                "symbolSize": 9,
                "lineStyle": {"color": color, "width": 1.6},
                "itemStyle": {"color": color},
                "data": [
                    {
                        "value": [x.at(point.batch), y.at(point.throughput_per_s)],
                        "tip": [label, f"batch {point.batch}: {_per_s(point)}"],
                    }
                    for point in own
                ],
            }
        )
    best = max(points, key=lambda point: point.throughput_per_s)
    return Chart(
        name=name,
        title="Throughput by batch",
        description=(
            f"The highest is {_per_s(best)}, of the {_label(best.side, best.streams)} "
            f"with batch {best.batch}."
        ),
        caption="Medians of few runs by which batch and streams were chosen; not interleaved.",
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("Side"),
            TableColumn("Batch", is_number=True),
            TableColumn("Streams", is_number=True),
            TableColumn("Samples per second", is_number=True),
        ),
        rows=tuple(
            (
                _NAMES[point.side],
                str(point.batch),
                str(point.streams),
                plain(point.throughput_per_s),
            )
            for point in points
        ),
        keys=keys_of(series),
        height=240,
    )


def _label(side: str, streams: int) -> str:
    return f"{_NAMES[side]}, {streams} stream{'s' if streams > 1 else ''}"


def _per_s(point: SweepPoint) -> str:
    return f"{point.throughput_per_s:.4g} samples/s"
