"""Utilisation of devices over time: the busy share of each target."""

from datetime import datetime, timedelta
from functools import partial

from hub.pages.chart.axis import Axis, percent_label
from hub.pages.chart.figure import (
    Chart,
    Option,
    TableColumn,
    keys_of,
    plain_option,
    series_color,
    series_symbol,
)
from registry.selectors.work.jobattempt import Utilisation, UtilisationBin

#: Targets with a line of their own; the busiest come first.
_MOST_LINES = 8
#: Longest window that is measured in hours.
_MOST_HOURS = 48.0


def utilisation(data: Utilisation, *, name: str = "utilisation") -> Chart | None:
    """Busy share of the devices' time by target; ``None`` if no device has joined.

    The table lists all targets, the plot the busiest.
    """
    if not data.targets:
        return None
    hours = (data.until - data.since).total_seconds() / 3600
    # The axis and the title count days in longer windows.
    unit, size = ("days", hours / 24) if hours > _MOST_HOURS else ("hours", hours)
    ordered = sorted(data.targets, key=lambda slug: (-_mean(data.targets[slug]), slug))
    x = Axis("time before now", -size, 0.0, partial(_time_label, unit=unit[0]))
    y = Axis("busy", 0.0, 100.0, percent_label)
    series = [_line(number, slug, data, x, y) for number, slug in enumerate(ordered[:_MOST_LINES])]
    return Chart(
        name=name,
        title=f"Utilisation in the last {size:.3g} {unit}",
        description=_description(ordered, data),
        caption=_caption(ordered, hours),
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("From (UTC)"),
            *(TableColumn(slug, is_number=True) for slug in ordered),
        ),
        rows=tuple(_rows(ordered, data)),
        keys=keys_of(series),
        height=280,
    )


def _mean(bins: list[UtilisationBin]) -> float:
    """Busy share over all bins."""
    device_s = sum(one.device_s for one in bins)
    return sum(one.busy_s for one in bins) / device_s if device_s else 0.0


def _line(number: int, slug: str, data: Utilisation, x: Axis, y: Axis) -> Option:
    color = series_color(number)
    bins = data.targets[slug]
    width = (x.high - x.low) / len(bins)
    pattern = "%H:%M" if data.until - data.since <= timedelta(days=1) else "%b %d %H:%M"
    marks = []
    for at, one in enumerate(bins):
        if one.share is None:
            continue
        middle = x.low + (at + 0.5) * width
        begin, end = _span(data, at)
        extent = f"{begin:{pattern}} to {end:{pattern}} UTC"
        tip = [slug, extent, f"{100 * one.share:.0f} % busy"]
        marks.append({"value": [x.at(middle), y.at(100 * one.share)], "tip": tip})
    return {
        "id": slug,
        "name": slug,
        "type": "line",
        "symbol": series_symbol(number),
        "symbolSize": 8,
        "lineStyle": {"color": f"--{color}", "width": 1.6},
        "itemStyle": {"color": f"--{color}"},
        "data": marks,
    }


def _span(data: Utilisation, at: int) -> tuple[datetime, datetime]:
    """Begin and end of a bin."""
    count = len(next(iter(data.targets.values())))
    width: timedelta = (data.until - data.since) / count
    return data.since + at * width, data.since + (at + 1) * width


def _rows(ordered: list[str], data: Utilisation) -> list[tuple[str, ...]]:
    count = len(data.targets[ordered[0]])
    return [
        (
            f"{_span(data, at)[0]:%Y-%m-%d %H:%M}",
            *(_share(data.targets[slug][at]) for slug in ordered),
        )
        for at in range(count)
    ]


def _share(one: UtilisationBin) -> str:
    return "" if one.share is None else f"{100 * one.share:.0f} %"


def _time_label(value: float, *, unit: str) -> str:
    return "now" if value == 0 else f"{value:.3g} {unit}"


def _description(ordered: list[str], data: Utilisation) -> str:
    shares = ", ".join(f"{slug}: {100 * _mean(data.targets[slug]):.0f} %" for slug in ordered)
    return f"Busy share of the devices' time, over the whole window. {shares}."


def _caption(ordered: list[str], hours: float) -> str:
    text = (
        "Share of the time, from when each device joined, in which it held a job. "
        "Retired devices are left out."
    )
    if len(ordered) > _MOST_LINES:
        text += f" Lines of the {_MOST_LINES} busiest targets; the table has all {len(ordered)}."
    if hours < 1:
        text += " The window is short because very many jobs ended in it."
    return text
