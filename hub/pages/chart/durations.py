"""Durations of consecutive runs of a build, in order, with their median."""

from collections.abc import Sequence
from statistics import median

from hub.pages.chart.axis import Axis, time_label
from hub.pages.chart.figure import (
    Chart,
    Option,
    TableColumn,
    keys_of,
    line,
    plain_option,
    series_color,
    series_symbol,
)
from hub.templatetags.figures import latency

#: Factor between the longest and the shortest run from which the axis is logarithmic.
_LOG_FROM = 5.0


def run_durations(samples_ns: Sequence[int], *, name: str = "durations") -> Chart | None:
    """The duration of each timed run by its number; ``None`` without runs."""
    if not samples_ns:
        return None
    low, high = min(samples_ns), max(samples_ns)
    y = Axis("duration", low * 0.95, high * 1.05, time_label, is_log=high > low * _LOG_FROM)
    x = Axis("run", 0.5, len(samples_ns) + 0.5)
    middle = median(samples_ns)
    ends = [[x.at(x.low), y.at(middle)], [x.at(x.high), y.at(middle)]]
    series = [_runs(samples_ns, y), line("median", ends, "ink", lineStyle={"type": "dashed"})]
    return Chart(
        name=name,
        title="Durations of the runs",
        description=(
            f"Median {latency(middle)} of {len(samples_ns)} runs, "
            f"from {latency(low)} to {latency(high)}."
        ),
        caption="Each mark is one run; dashed: the median."
        + (" The axis is logarithmic." if y.is_log else ""),
        option=plain_option(x.count_option(), y.option(is_vertical=True), series),
        columns=(TableColumn("Run", is_number=True), TableColumn("Duration", is_number=True)),
        rows=tuple((str(number), latency(ns)) for number, ns in enumerate(samples_ns, 1)),
        keys=keys_of(series),
        height=260,
    )


def _runs(samples_ns: Sequence[int], y: Axis) -> Option:
    return {
        "id": "runs",
        "name": "run",
        "type": "scatter",
        "symbol": series_symbol(0),
        "symbolSize": 7,
        "itemStyle": {"color": f"--{series_color(0)}"},
        "data": [
            {"value": [number, y.at(ns)], "tip": [f"run {number}", latency(ns)]}
            for number, ns in enumerate(samples_ns, 1)
        ],
    }
