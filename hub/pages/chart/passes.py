"""The effect of leaving out single compiler passes on compile time and latency."""

from collections.abc import Sequence

from hub.pages.chart.axis import Axis, percent_label
from hub.pages.chart.figure import (
    Chart,
    Option,
    TableColumn,
    keys_of,
    plain_option,
    series_color,
    series_symbol,
    whiskers,
)
from registry.selectors.analysis.passes import MeanRatio, PassEffect

#: Passes with a row of their own; the table has all.
_MOST_ROWS = 20
_ROW_PX, _FRAME_PX = 24, 92
_SIDES = (("compile time", "compile"), ("latency", "latency"))


def effects_chart(effects: Sequence[PassEffect], *, name: str, title: str) -> Chart | None:
    """Change of compile time and latency without each pass, in percent, with 95 % intervals.

    Returns ``None`` if nothing was measured.
    """
    shown = [one for one in effects if one.compile or one.latency][:_MOST_ROWS]
    if not shown:
        return None
    means = [mean for one in shown for mean in (one.compile, one.latency) if mean]
    ends = [change(end) for mean in means for end in (mean.low, mean.high, mean.value)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    margin = max(high - low, 1.0) * 0.06
    x_name = "← less without the pass · change in % · more without it →"
    x = Axis(x_name, low - margin, high + margin, percent_label)
    series = [one for number, side in enumerate(_SIDES) for one in _series(shown, number, *side, x)]
    return Chart(
        name=name,
        title=title,
        description=_description(shown),
        caption="Change when one pass is left out of the list. Whiskers are 95 % intervals of the "
        "measurement. Left of zero: leaving it out saves; right of zero: it is needed.",
        option=plain_option(
            x.option(),
            {
                "type": "category",
                "inverse": True,
                "data": [one.name for one in shown],
                "axisTick": {"show": False},
                "axisLabel": {"width": 190, "overflow": "truncate"},
            },
            series,
        )
        | {"grid": {"left": 206, "right": 24, "top": 12, "bottom": 44}},
        columns=(
            TableColumn("Pass"),
            TableColumn("Verdict"),
            TableColumn("Compile time without it", is_number=True),
            TableColumn("Latency without it", is_number=True),
            TableColumn("Networks", is_number=True),
            TableColumn("Failed without it", is_number=True),
        ),
        rows=tuple(
            (
                one.name,
                one.verdict,
                change_text(one.compile),
                change_text(one.latency),
                str(one.networks),
                str(one.failures),
            )
            for one in effects
        ),
        keys=keys_of(series),
        height=_FRAME_PX + _ROW_PX * len(shown),
    )


def change(ratio: float) -> float:
    """A ratio as a change in percent: 0.6 -> -40."""
    return 100 * (ratio - 1)


def change_text(mean: MeanRatio | None) -> str:
    """``−40 % [−44, −35]``; what was not measured is said."""
    if mean is None:
        return "not measured"
    if mean.low == mean.high:
        return f"{_signed(change(mean.value))} %"
    value, low, high = (_signed(change(each)) for each in (mean.value, mean.low, mean.high))
    return f"{value} % [{low}, {high}]"


def _signed(value: float) -> str:
    text = f"{abs(value):.0f}" if abs(value) >= 10 else f"{abs(value):.1f}"
    return "0" if float(text) == 0 else f"{'−' if value < 0 else '+'}{text}"


def _series(
    shown: Sequence[PassEffect], number: int, title: str, attribute: str, x: Axis
) -> list[Option]:
    color = series_color(number)
    placed = [(at, one, mean) for at, one in enumerate(shown) if (mean := getattr(one, attribute))]
    if not placed:
        return []
    intervals = [
        [x.at(change(mean.value)), at, x.at(change(mean.low)), x.at(change(mean.high))]
        for at, _, mean in placed
        if mean.low < mean.high
    ]
    marks: Option = {
        "id": title,
        "name": title,
        "type": "scatter",
        "symbol": series_symbol(number),
        "symbolSize": 11,
        "itemStyle": {"color": f"--{color}"},
        "data": [
            {
                "value": [x.at(change(mean.value)), at],
                "tip": [f"without {one.name}", f"{title} {change_text(mean)}", one.verdict,
                        _networks(one.networks)],
            }
            for at, one, mean in placed
        ],
    }  # fmt: skip
    return [*([whiskers(title, intervals, color, is_vertical=False)] if intervals else []), marks]


def _networks(count: int) -> str:
    return f"{count} network{'s' * (count != 1)}"


def _description(shown: Sequence[PassEffect]) -> str:
    needed = [one.name for one in shown if one.verdict.startswith("needed")]
    text = f"{len(shown)} passes left out one at a time."
    return (
        f"{text} Needed: {', '.join(needed[:5])}." if needed else f"{text} None is proved needed."
    )
