"""The best time so far of a search for schedules."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from hub.pages.chart.axis import Axis, log_axis, plain, time_label
from hub.pages.chart.figure import (
    Cell,
    Chart,
    LinkedText,
    Option,
    TableColumn,
    keys_of,
    line,
    plain_option,
    series_color,
)
from hub.pages.chart.progress import CoursePlace, best_line, place_axis, rug
from hub.pages.chart.trialmarks import (
    MOST_DETAIL,
    MOST_ROWS,
    drawn,
    hidden_text,
    scatter,
    spread_of,
    tip_of,
)
from registry.selectors.analysis.workloadoutcome import RivalTime
from registry.selectors.analysis.workloadsearch import SearchTrial
from registry.states import TrialOutcome

_MOST_RIVALS = 3


def best_so_far(
    trials: Sequence[SearchTrial],
    rivals: Sequence[RivalTime] = (),
    jobs: Mapping[int | None, tuple[str, str]] | None = None,
    *,
    by: CoursePlace = CoursePlace.TRIAL,
) -> Chart | None:
    """Times of all trials and the best so far; ``None`` without trials.

    Args:
        rivals: Drawn as dashed lines, the fastest few.
        jobs: Name and address of each job, for bands; the address is "" if the reader may not see
            its model.
        by: What the horizontal axis shows.
    """
    if not trials:
        return None
    named = jobs or {}
    places = _places(trials, by)
    timed = [trial for trial in trials if trial.time_s is not None]
    lines = [rival for rival in rivals[:_MOST_RIVALS] if timed]
    values = [1e9 * (trial.time_s or 0.0) for trial in timed] or [1.0]
    y = log_axis("time of a call", [*values, *(1e9 * rival.time_s for rival in lines)], time_label)
    x = place_axis(places, by)
    shown = {trial.position for trial in drawn(timed)}
    series = _bands(trials, places, named)
    series += _times(timed, shown, places, y)
    series += best_line([(places[t.position], 1e9 * (t.time_s or 0.0)) for t in timed], x, y)
    series += _rivals(lines, x, y)
    failed = [trial for trial in trials if trial.failure]
    series += rug("failed", [(places[trial.position], tip_of(trial)) for trial in failed], "bad")
    hidden = len(timed) - len(shown)
    return Chart(
        name="best-so-far",
        title="Best time so far",
        description=_description(trials, timed),
        caption=_caption(len(trials), hidden, len(failed), named),
        option=plain_option(
            x.count_option() if by == CoursePlace.TRIAL else x.option(),
            [y.option(is_vertical=True), {"type": "value", "min": 0, "max": 1, "show": False}],
            series,
        ),
        columns=(
            TableColumn("Trial", is_number=True),
            TableColumn("At", is_number=True),
            TableColumn("Outcome"),
            TableColumn("Median", is_number=True),
            TableColumn("Spread", is_number=True),
            TableColumn("By"),
            TableColumn("Predicted", is_number=True),
            TableColumn("Job"),
            TableColumn("Detail"),
        ),
        rows=tuple(_row(trial, places, named) for trial in reversed(trials[-MOST_ROWS:])),
        keys=keys_of([one for one in series if one.get("renderItem") != "band"]),
    )


def _times(
    timed: Sequence[SearchTrial], shown: set[int], places: Sequence[float], y: Axis
) -> list[Option]:
    """Trials with a time that are drawn, by outcome."""
    series: list[Option] = []
    for number, (label, outcome) in enumerate(
        (("measured", TrialOutcome.MEASURED), ("stopped early", TrialOutcome.PRUNED))
    ):
        own = [t for t in timed if t.outcome == outcome and t.position in shown]
        if own:
            series.append(_dots(label, own, places, y, number))
    return series


def _rivals(rivals: Sequence[RivalTime], x: Axis, y: Axis) -> list[Option]:
    series: list[Option] = []
    for number, rival in enumerate(rivals):
        at, dashes = y.at(1e9 * rival.time_s), {"type": "dashed"}
        color = series_color(3 + number)
        series.append(line(rival.label, [[x.low, at], [x.high, at]], color, lineStyle=dashes))
    return series


def _places(trials: Sequence[SearchTrial], by: CoursePlace) -> list[float]:
    if by == CoursePlace.TRIAL:
        return [float(trial.position) for trial in trials]
    return [round(end, 3) for end in accumulate(trial.duration_s for trial in trials)]


def _dots(
    label: str, own: Sequence[SearchTrial], places: Sequence[float], y: Axis, number: int
) -> Option:
    marks = [
        {
            "value": [places[t.position], y.at(1e9 * (t.time_s or 0.0))],
            "tip": tip_of(t),
            "id": t.uuid,
        }
        for t in own
    ]
    return scatter(label, marks, number)


def _bands(
    trials: Sequence[SearchTrial],
    places: Sequence[float],
    jobs: Mapping[int | None, tuple[str, str]],
) -> list[Option]:
    """Every second run of trials of one job, from its first to its last place."""
    runs: list[tuple[int | None, int, int]] = []
    for trial in trials:
        if runs and runs[-1][0] == trial.job:
            runs[-1] = (trial.job, runs[-1][1], trial.position)
        else:
            runs.append((trial.job, trial.position, trial.position))
    if len(set(jobs)) < 2 or len(runs) > 40:
        return []
    return [
        {
            "id": "jobs",
            "type": "custom",
            "renderItem": "band",
            "silent": True,
            "clip": True,
            "z": 0,
            "tooltip": {"show": False},
            "itemStyle": {"color": "--line"},
            "data": [[places[first] - 0.5, places[last] + 0.5] for _, first, last in runs[1::2]],
        }
    ]


def _row(
    trial: SearchTrial, places: Sequence[float], jobs: Mapping[int | None, tuple[str, str]]
) -> tuple[Cell, ...]:
    name, address = jobs.get(trial.job, ("deleted", ""))
    is_timed = trial.time_s is not None
    return (
        str(trial.position),
        plain(places[trial.position]),
        trial.outcome if is_timed else trial.failure,
        time_label(1e9 * trial.time_s) if trial.time_s is not None else "",
        spread_of(trial) if is_timed else "",
        trial.proposed_by,
        "" if trial.predicted is None else f"{trial.predicted:.3g}",
        LinkedText(name, address) if address else name,
        trial.failure_detail[:MOST_DETAIL],
    )


def _description(trials: Sequence[SearchTrial], timed: Sequence[SearchTrial]) -> str:
    text = f"{len(trials)} trial{'s' * (len(trials) != 1)}, {len(timed)} with a time."
    if timed:
        best = min(timed, key=lambda trial: trial.time_s or 0.0)
        text += f" The fastest is trial {best.position}: {time_label(1e9 * (best.time_s or 0.0))}."
    return text


def _caption(
    count: int, hidden: int, failed: int, jobs: Mapping[int | None, tuple[str, str]]
) -> str:
    text = "Median time of a call on a logarithmic axis; lower is better."
    if failed:
        text += f" Ticks at the lower edge are the {failed} trials that failed."
    if len(jobs) > 1:
        text += f" Grey bands separate the trials of {len(jobs)} jobs."
    text += hidden_text(hidden, count)
    if count > MOST_ROWS:
        text += f" The table has the newest {MOST_ROWS}; exports have all."
    return text
