"""Time of parts of a network as horizontal bars, in one or two builds."""

from collections.abc import Sequence
from dataclasses import dataclass

from hub.pages.chart.axis import Axis, time_label
from hub.pages.chart.figure import Chart, Key, Option, TableColumn, plain_option, series_color
from hub.templatetags.figures import latency

#: Parts with a bar of their own; the others share one.
_MOST_BARS = 16
_ROW_PX, _FRAME_PX = 30, 90


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a network and its time in nanoseconds in each build, in the order of the builds."""

    label: str
    times_ns: tuple[float, ...]

    @property
    def longest_ns(self) -> float:
        return max(self.times_ns)


def bars(parts: Sequence[Part], names: Sequence[str], *, name: str = "bars") -> Chart | None:
    """Bars of the parts that take longest, and one of all others together.

    Args:
        parts: Each with a time for each of the ``names``.
        names: The builds, such as ``("default", "this build")``.
        name: As in :class:`Chart`.

    Returns:
        The table lists every part. ``None`` if no part takes any time.
    """
    ordered = sorted(parts, key=lambda part: -part.longest_ns)
    if not ordered or not ordered[0].longest_ns:
        return None
    shown = _shortened(ordered, len(names))
    x = Axis("time of a run", 0.0, 1.05 * max(part.longest_ns for part in shown), time_label)
    totals = [sum(part.times_ns[number] for part in ordered) for number in range(len(names))]
    return Chart(
        name=name,
        title=f"Time by node, {' and '.join(names)}",
        description=f"{_sums(names, totals)}. Longest part: {shown[0].label}.",
        caption="Nodes that a build executes in one call are one bar"
        + (", in both builds." if len(names) > 1 else "."),
        option=plain_option(
            x.option(),
            {
                "type": "category",
                "inverse": True,
                "data": [part.label for part in shown],
                "axisTick": {"show": False},
                "axisLabel": {"width": 170, "overflow": "truncate"},
            },
            [_series(shown, number, each) for number, each in enumerate(names)],
        )
        | {"grid": {"left": 186, "right": 24, "top": 12, "bottom": 44}},
        columns=(
            TableColumn("Nodes"),
            *(TableColumn(f"Time, {each}", is_number=True) for each in names),
            *([TableColumn("Change", is_number=True)] if len(names) == 2 else []),
        ),
        rows=tuple(_row(part) for part in ordered),
        keys=tuple(
            Key(f"{each}, {latency(total)}", "rect", series_color(number))
            for number, (each, total) in enumerate(zip(names, totals, strict=True))
        ),
        height=_FRAME_PX + _ROW_PX * len(shown),
    )


def _sums(names: Sequence[str], totals: Sequence[float]) -> str:
    pairs = zip(names, totals, strict=True)
    return ", ".join(f"{each}: {latency(total)} in all" for each, total in pairs)


def _shortened(ordered: Sequence[Part], count: int) -> list[Part]:
    if len(ordered) <= _MOST_BARS:
        return list(ordered)
    rest = ordered[_MOST_BARS - 1 :]
    times = tuple(sum(part.times_ns[number] for part in rest) for number in range(count))
    return [*ordered[: _MOST_BARS - 1], Part(f"{len(rest)} others", times)]


def _series(shown: Sequence[Part], number: int, name: str) -> Option:
    return {
        "id": name,
        "name": name,
        "type": "bar",
        "barGap": "10%",
        "barMaxWidth": 22,
        "itemStyle": {"color": f"--{series_color(number)}"},
        "data": [
            {
                "value": part.times_ns[number],
                "tip": [part.label, f"{name}: {latency(part.times_ns[number]) or '0'}"],
            }
            for part in shown
        ],
    }


def _row(part: Part) -> tuple[str, ...]:
    times = tuple(latency(ns) for ns in part.times_ns)
    if len(part.times_ns) != 2:
        return (part.label, *times)
    before, after = part.times_ns
    return (part.label, *times, f"{100 * (after - before) / before:+.0f} %" if before else "")
