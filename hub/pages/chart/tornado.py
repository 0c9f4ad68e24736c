"""The effect of each reverted decision: bars from 1 on a logarithmic axis, longest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from hub.pages.chart.axis import Axis, log_axis, ratio_label
from hub.pages.chart.figure import Chart, Key, Option, TableColumn, whiskers

_ROW_PX, _FRAME_PX = 26, 70
#: Colour of each verdict; orange and blue, which everybody tells apart.
_COLORS = {"slower": "series-2", "faster": "series-3", "same": "ink", "unstable": "ink"}
_WORDS = {
    "slower": "slower without it", "faster": "faster without it", "same": "no difference",
    "unstable": "undecided",
}  # fmt: skip
#: Words of the legend, where pale bars are one entry.
_KEYS = _WORDS | dict.fromkeys(("same", "unstable"), "no proven difference")


@dataclass(frozen=True, slots=True)
class Reverted:
    """A reverted decision.

    Attributes:
        label: What was reverted, such as ``tile of ff``.
        change: From which value to which, and why this one.
        ratio, low, high: Time over that of the best schedule, with its interval; ``None`` after a
            failure.
        outcome: Why there is no ratio, else "".
    """

    label: str
    change: str
    verdict: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    outcome: str = ""


def tornado(
    rows: Sequence[Reverted], *, noise: tuple[float, float] | None, name: str = "ablation"
) -> Chart | None:
    """The chart of the variants; ``None`` if none was measured.

    Args:
        noise: Interval of the ratio of the best schedule to itself, shown as a row of its own.
    """
    ordered = sorted(
        (row for row in rows if row.ratio is not None), key=lambda row: -(row.ratio or 0.0)
    )
    if not ordered:
        return None
    failed = [row for row in rows if row.ratio is None]
    measured = [*ordered]
    if noise is not None:
        middle = (noise[0] * noise[1]) ** 0.5
        measured.append(Reverted("nothing (control)", "", "same", middle, *noise))
    values = [1.0, *(end for row in measured for end in (row.low, row.high, row.ratio) if end)]
    x = log_axis("time, as a multiple of the best schedule's", values, ratio_label, margin=1.1)
    legend = {_KEYS[row.verdict]: _COLORS[row.verdict] for row in measured}
    return Chart(
        name=name,
        title="What each decision saves",
        description=f"The largest effect: {ordered[0].label}, {_figures(ordered[0])}.",
        caption="Each bar is the best schedule with one decision reverted, timed in turns with it; "
        "the line is the 95 % interval. Pale bars: no proven difference. The axis is logarithmic."
        + (f" Variants that failed, only in the table: {len(failed)}." if failed else ""),
        option=_option(measured[::-1], x),
        columns=(
            TableColumn("Decision"),
            TableColumn("Change"),
            TableColumn("Time ratio", is_number=True),
            TableColumn("95 % interval", is_number=True),
            TableColumn("Conclusion"),
        ),
        rows=tuple(_row(row) for row in (*measured, *failed)),
        keys=tuple(Key(words, "rect", color) for words, color in legend.items()),
        height=_FRAME_PX + _ROW_PX * len(measured),
    )


def _option(shown: Sequence[Reverted], x: Axis) -> Option:
    """Rows from below, as ECharts counts categories."""
    series: list[Option] = [
        {
            "id": "variants",
            "name": "variant",
            "type": "bar",
            "barMaxWidth": 16,
            "data": [
                {
                    "value": [x.at(row.ratio or 1.0), number],
                    "itemStyle": {
                        "color": f"--{_COLORS[row.verdict]}",
                        "opacity": 1.0 if row.verdict in {"slower", "faster"} else 0.35,
                    },
                    "tip": [row.label, *([row.change] if row.change else []), _figures(row)],
                }
                for number, row in enumerate(shown)
            ],
        },
        whiskers(
            "intervals",
            [
                [x.at(row.ratio or 1.0), number, x.at(row.low or 1.0), x.at(row.high or 1.0)]
                for number, row in enumerate(shown)
            ],
            "ink",
            is_vertical=False,
        ),
    ]
    return {
        "grid": {"left": 176, "right": 24, "top": 12, "bottom": 48},
        "xAxis": x.option(),
        "yAxis": {
            "type": "category",
            "data": [row.label for row in shown],
            "axisLabel": {"width": 164, "overflow": "truncate"},
            "axisTick": {"show": False},
        },
        "series": series,
        "legend": {"show": False, "data": ["variant"]},
    }


def _figures(row: Reverted) -> str:
    if row.ratio is None or row.low is None or row.high is None:
        return row.outcome
    return f"{row.ratio:.3g}× [{row.low:.3g}, {row.high:.3g}], {_WORDS[row.verdict]}"


def _row(row: Reverted) -> tuple[str, ...]:
    if row.ratio is None or row.low is None or row.high is None:
        return (row.label, row.change, "", "", row.outcome)
    return (
        row.label, row.change, f"{row.ratio:.3f}", f"{row.low:.3f} to {row.high:.3f}",
        _WORDS[row.verdict],
    )  # fmt: skip
