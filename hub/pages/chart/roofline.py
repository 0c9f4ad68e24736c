"""The calls of a build under the measured roofs of its device."""

from math import sqrt

from hub.pages.chart.axis import Axis, log_axis, plain
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
from hub.pages.figuretext import rate, size
from hub.templatetags.figures import count, latency, percent
from registry.selectors.analysis.roof import MEMORY
from registry.selectors.analysis.roofline import RooflineCall, RooflineView

#: Diameters of marks: their area shows the share of the time.
_LEAST_PX, _MOST_PX = 7.0, 46.0
#: Marks, those that take longest, and rows of the table, those that would save most.
_MOST_MARKS, _MOST_ROWS = 1000, 200


def roofline(view: RooflineView, *, name: str = "roofline") -> Chart | None:
    """Operations per second over operations per byte, with the roofs as lines.

    Returns:
        A mark for each call with operations, whose ``id`` is its position in the order of
        execution; of very many the longest. The table has the calls that would save most. ``None``
        without roofs or without such a call.
    """
    roofs = view.roofs
    placed = [call for call in view.calls if call.intensity and call.rate]
    if roofs is None or roofs.bandwidth is None or not placed:
        return None
    used = list(
        dict.fromkeys(call.work.precision for call in placed if roofs.peak(call.work.precision))
    )
    peaks = {precision: roofs.peak(precision) or 0.0 for precision in used}
    ridges = [peak / roofs.bandwidth for peak in peaks.values()]
    x_values = [*(call.intensity or 0.0 for call in placed), *ridges]
    x = log_axis("operations per byte of main memory", x_values, plain, margin=2.0)
    slowest = min(call.rate or 0.0 for call in placed)
    y = log_axis(
        "operations per second",
        [slowest, *(call.rate or 0.0 for call in placed), *peaks.values()],
        lambda value: rate(value, "OP"),
        margin=1.6,
    )
    shown = sorted(placed, key=lambda call: -call.share)[:_MOST_MARKS]
    series = [*_roofs(view, peaks, x, y), *_marks(shown, used, x, y)]
    rows = sorted(view.calls, key=lambda one: -one.saving_ns)[:_MOST_ROWS]
    return Chart(
        name=name,
        title=f"Roofline on {roofs.device.target.slug}",
        description=_description(view, placed),
        caption=_caption(view, placed),
        option=plain_option(x.option(), y.option(is_vertical=True), series)
        | {"grid": {"left": 92, "right": 20, "top": 34, "bottom": 44}},
        columns=(
            TableColumn("Call"),
            TableColumn("Operator"),
            TableColumn("Time", is_number=True),
            TableColumn("Share", is_number=True),
            TableColumn("Precision"),
            TableColumn("Operations", is_number=True),
            TableColumn("Bytes", is_number=True),
            TableColumn("Operations per byte", is_number=True),
            TableColumn("Per second", is_number=True),
            TableColumn("Of the roof", is_number=True),
            TableColumn("Limit"),
            TableColumn("Would save", is_number=True),
        ),
        rows=tuple(map(_row, rows)),
        keys=keys_of(series),
        height=420,
    )


def _roofs(view: RooflineView, peaks: dict[str, float], x: Axis, y: Axis) -> list[Option]:
    """The slope of each level of memory, and the ceiling of each precision."""
    assert view.roofs is not None  # noqa: S101 - checked by the caller
    highest = max(peaks.values(), default=y.high)
    series = []
    for level, roof in view.roofs.memory.items():
        start, end = max(x.low, y.low / roof.per_second), min(x.high, highest / roof.per_second)
        if start >= end:
            continue
        path = [[x.at(at), y.at(at * roof.per_second)] for at in (start, end)]
        style = {} if level == MEMORY else {"lineStyle": {"type": "dashed"}}
        series.append(line(f"{level}, {rate(roof.per_second, 'B')}", path, "soft", **style))
    bandwidth = view.roofs.bandwidth or 1.0
    for number, (precision, peak) in enumerate(peaks.items()):
        path = [[x.at(at), y.at(peak)] for at in (max(peak / bandwidth, x.low), x.high)]
        series.append(line(f"{precision}, {rate(peak, 'OP')}", path, series_color(number)))
    return series


def _marks(placed: list[RooflineCall], used: list[str], x: Axis, y: Axis) -> list[Option]:
    series = []
    largest = max(call.share for call in placed)
    for number, precision in enumerate(
        dict.fromkeys([*used, *(one.work.precision for one in placed)])
    ):
        own = [call for call in placed if call.work.precision == precision]
        # Small marks are drawn over large ones.
        own.sort(key=lambda call: -call.share)
        series.append(
            {
                "id": f"calls {precision}",
                "name": f"calls in {precision}",
                "type": "scatter",
                "symbol": series_symbol(number),
                "itemStyle": {"color": f"--{series_color(number)}", "opacity": 0.75},
                "data": [
                    {
                        "value": [x.at(call.intensity or 0.0), y.at(call.rate or 0.0)],
                        "symbolSize": round(_diameter(call.share / largest), 1),
                        "id": str(call.site.sequence),
                        "tip": _tip(call),
                    }
                    for call in own
                ],
            }
        )
    return series


def _diameter(part: float) -> float:
    return max(_MOST_PX * sqrt(part), _LEAST_PX)


def _tip(call: RooflineCall) -> list[str]:
    of_roof = call.of_roof
    lines = [
        f"{call.site.operator} {call.site.name}"[:120],
        f"{latency(call.site.median_ns)}, {percent(call.share)} of the time",
        f"{rate(call.rate or 0.0, 'OP')} at {call.intensity:.3g} operations per byte",
        _of_roof(of_roof),
        f"at the roof it would save {latency(call.saving_ns)}" if call.saving_ns else "",
        "precision not reported, float32 assumed" if call.work.is_assumed else "",
    ]
    return [each for each in lines if each]


def _of_roof(of_roof: float | None) -> str:
    if of_roof is None:
        return ""
    if of_roof > 1:
        return "above the roof: its data stay in a cache, or its kernel beats the one that measured"
    return f"{percent(of_roof)} of the roof"


def _row(call: RooflineCall) -> tuple[str, ...]:
    bound = call.is_memory_bound
    return (
        f"{call.site.sequence} {call.site.name}"[:80],
        call.site.operator,
        latency(call.site.median_ns),
        percent(call.share),
        call.work.precision + (" (assumed)" if call.work.is_assumed else ""),
        "unknown" if call.work.flops is None else count(call.work.flops),
        "unknown" if call.work.traffic is None else size(call.work.traffic),
        f"{call.intensity:.3g}" if call.intensity else "",
        rate(call.rate, "OP") if call.rate else "",
        "unknown" if call.of_roof is None else percent(call.of_roof),
        "" if bound is None else "memory" if bound else "arithmetic",
        latency(call.saving_ns) if call.saving_ns else "",
    )


def _description(view: RooflineView, placed: list[RooflineCall]) -> str:
    best = max(placed, key=lambda call: call.saving_ns)
    share = view.saving_ns / max(view.sum_ns, 1.0)
    return (
        f"{len(placed)} calls under the roofs. Reaching the roof in all calls would save "
        f"{latency(view.saving_ns)}, {percent(share)} of the profiled time; most in "
        f"{best.site.operator} {best.site.name}: {latency(best.saving_ns)}."
    )


def _caption(view: RooflineView, placed: list[RooflineCall]) -> str:
    text = (
        "Area: share of the time. Bytes: arguments, results and parameters in the executed "
        "precision, each counted once. Left of the ridge memory is the limit."
    )
    if view.above:
        calls = "call lies" if view.above == 1 else "calls lie"
        text += f" {view.above} {calls} above the roof, as data may stay in a cache."
    if missing := len(view.calls) - len(placed):
        text += f" {missing} of {len(view.calls)} calls have no multiply-adds: see the table."
    if len(placed) > _MOST_MARKS:
        text += f" Showing the longest {_MOST_MARKS:,} of {len(placed):,}."
    if len(view.calls) > _MOST_ROWS:
        text += f" The table has the {_MOST_ROWS} that would save most of {len(view.calls):,}."
    if view.roofs and view.roofs.roof_set.is_emulated:
        text += " The device is emulated: its roofs say nothing about real machines."
    return text
