"""Marks of trials of schedules, as several charts draw them."""

from collections.abc import Sequence

from hub.pages.chart.axis import time_label
from hub.pages.chart.figure import Option, series_color, series_symbol
from registry.selectors.analysis.workloadsearch import SearchTrial

#: Marks of a chart; of more trials the fastest and a regular sample of the others are drawn.
MOST_MARKS = 1500
_FASTEST_MARKS = 500
#: Rows of the tables below the charts; exports have all.
MOST_ROWS = 400
#: Characters of the text of a failure.
MOST_DETAIL = 300


def drawn(timed: Sequence[SearchTrial]) -> list[SearchTrial]:
    """Trials that are drawn, of timed ones."""
    if len(timed) <= MOST_MARKS:
        return list(timed)
    ordered = sorted(timed, key=lambda trial: trial.time_s or 0.0)
    rest = ordered[_FASTEST_MARKS:]
    step = len(rest) / (MOST_MARKS - _FASTEST_MARKS)
    sample = [rest[int(number * step)] for number in range(MOST_MARKS - _FASTEST_MARKS)]
    return ordered[:_FASTEST_MARKS] + sample


def scatter(label: str, marks: list[Option], number: int) -> Option:
    """A series of marks with the colour and the shape of its number."""
    return {
        "id": label,
        "name": label,
        "type": "scatter",
        "symbol": series_symbol(number),
        "symbolSize": 7,
        "itemStyle": {"color": f"--{series_color(number)}", "opacity": 0.8},
        "data": marks,
    }


def tip_of(trial: SearchTrial) -> list[str]:
    """Lines of the tooltip of a trial."""
    lines = [f"Trial {trial.position}, by {trial.proposed_by}"]
    if trial.time_s is not None:
        lines.append(f"{time_label(1e9 * trial.time_s)}, {spread_of(trial) or 'timed once'}")
    else:
        lines.append(f"{trial.failure}: {trial.failure_detail[:MOST_DETAIL]}")
    if trial.predicted is not None:
        lines.append(f"predicted score {trial.predicted:.3g}")
    return lines


def spread_of(trial: SearchTrial) -> str:
    """Range of its raw times; "" for fewer than two."""
    if len(trial.seconds) < 2:
        return ""
    return f"{time_label(1e9 * min(trial.seconds))} to {time_label(1e9 * max(trial.seconds))}"


def hidden_text(hidden: int, count: int) -> str:
    """How many of how many trials are drawn; "" if all are."""
    if not hidden:
        return ""
    return f" Showing {count - hidden:,} of {count:,}: the fastest {_FASTEST_MARKS} and a sample."
