"""The course of a search: the ratio of each trial, the best so far, and failures as a rug."""

from collections import Counter
from collections.abc import Sequence
from math import inf

from hub.pages.chart.axis import Axis, log_axis, ratio_label
from hub.pages.chart.figure import (
    Chart,
    Key,
    Option,
    TableColumn,
    keys_of,
    plain_option,
    series_color,
    series_symbol,
    whiskers,
)
from hub.pages.chart.progress import CoursePlace, best_line, cap_of, place_axis, places_of, rug
from hub.templatetags.figures import deviation, latency, options
from registry.states import ToleranceClass, TrialOutcome
from registry.tables import Trial

#: Trials slower than this are drawn at the upper edge, unless most trials are.
_LEAST_CAP = 1.5
_MOST_DETAIL = 300
_DASHES = ("solid", "dashed", "dotted")
_SLOW_KEY = Key("slower than the axis", "arrow", "soft")


def course(
    trials: Sequence[Trial],
    *,
    name: str = "course",
    by: CoursePlace = CoursePlace.TRIAL,
    classes: bool = False,
) -> Chart | None:
    """Ratios of latencies to the default's by trial or by time, coloured by backend.

    With ``classes`` the best so far is a line for each tolerance class, each including the stricter
    ones, because accepting a class accepts those.

    Outliers are drawn as arrows at the upper edge and counted; trials without a ratio are ticks at
    the lower edge. ``None`` if there is no trial.
    """
    if not trials:
        return None
    measured = [trial for trial in trials if trial.ratio]
    stopped = [trial for trial in trials if not trial.ratio and _is_stopped(trial)]
    failed = [trial for trial in trials if not trial.ratio and not _is_stopped(trial)]
    ratios = [trial.ratio or 1.0 for trial in measured]
    cap = cap_of(ratios, _LEAST_CAP)
    drawn = [1.0, *(min(ratio, cap) for ratio in ratios)]
    y = log_axis("latency, of the default's", drawn, ratio_label, margin=1.08)
    outliers = sum(ratio > y.high for ratio in ratios)
    at = places_of(trials, by)
    x = place_axis(list(at.values()), by)
    series = [
        *_backends(measured, at, y),
        *(_best_of_classes(measured, at, x, y) if classes else _best(measured, at, x, y)),
        *rug("stopped early", [(at[trial.number], _tip(trial)) for trial in stopped], "soft"),
        *rug("failed", [(at[trial.number], _tip(trial)) for trial in failed], "bad"),
    ]
    return Chart(
        name=name,
        title="Course of the search",
        description=_description(measured, failed),
        caption=_caption(len(ratios), outliers, y.high) + _failures([*stopped, *failed]),
        option=plain_option(
            x.count_option() if by == CoursePlace.TRIAL else x.option(),
            [y.option(is_vertical=True), {"type": "value", "min": 0, "max": 1, "show": False}],
            series,
        ),
        columns=(
            TableColumn("#", is_number=True),
            TableColumn("Backend"),
            TableColumn("Options"),
            TableColumn("By"),
            TableColumn("Outcome"),
            TableColumn("Ratio", is_number=True),
            TableColumn("95 % interval", is_number=True),
            TableColumn("Median", is_number=True),
            TableColumn("Deviation", is_number=True),
            TableColumn("Detail"),
        ),
        rows=tuple(_row(trial) for trial in reversed(trials)),
        keys=keys_of(series) + ((_SLOW_KEY,) if outliers else ()),
    )


def _is_stopped(trial: Trial) -> bool:
    """Whether the trial was stopped because it was slower than the others, which is no failure."""
    return trial.outcome == TrialOutcome.PRUNED


def _backends(measured: Sequence[Trial], at: dict[int, float], y: Axis) -> list[Option]:
    backends = dict.fromkeys(trial.candidate["backend"] for trial in measured)
    series: list[Option] = []
    for number, backend in enumerate(backends):
        own = [trial for trial in measured if trial.candidate["backend"] == backend]
        color = series_color(number)
        intervals = [
            [at[trial.number], y.at(trial.ratio), y.at(trial.ratio_low), y.at(trial.ratio_high)]
            for trial in own
            if trial.ratio and trial.ratio_low and trial.ratio_high and trial.ratio <= y.high
        ]
        series.append(whiskers(backend, intervals, color, is_vertical=True))
        series.append(
            {
                "id": backend,
                "name": backend,
                "type": "scatter",
                "symbol": series_symbol(number),
                "symbolSize": 9,
                "itemStyle": {"color": f"--{color}"},
                "data": [_mark(trial, at[trial.number], y) for trial in own],
            }
        )
    return series


def _best(measured: Sequence[Trial], at: dict[int, float], x: Axis, y: Axis) -> list[Option]:
    return best_line([(at[trial.number], trial.ratio or 1.0) for trial in measured], x, y)


def _best_of_classes(
    measured: Sequence[Trial], at: dict[int, float], x: Axis, y: Axis
) -> list[Option]:
    """A line for each class that has candidates of its own, told by dashes and width as well."""
    series: list[Option] = []
    present = [one for one in ToleranceClass.values if any(t.tolerance == one for t in measured)]
    for number, tolerance in enumerate(present):
        accepted = ToleranceClass.values[: ToleranceClass.values.index(tolerance) + 1]
        own = [trial for trial in measured if trial.tolerance in accepted]
        for each in _best(own, at, x, y):
            style = {"color": "--ink", "width": 1.6 + 0.7 * number, "type": _DASHES[number % 3]}
            title = f"best {tolerance}"
            series.append(each | {"id": title, "name": title, "lineStyle": style})
    return series


def _mark(trial: Trial, at: float, y: Axis) -> Option:
    ratio = trial.ratio or 1.0
    mark: Option = {"value": [at, y.at(ratio)], "tip": _tip(trial)}
    return mark | ({"symbol": "arrow", "symbolSize": 11} if ratio > y.high else {})


def _tip(trial: Trial) -> list[str]:
    lines = [f"Trial {trial.number}: {trial.candidate['backend']}", options(trial.candidate)]
    if trial.ratio:
        lines.append(f"{trial.ratio:.3f} of the default's latency, {_interval(trial)}")
        lines.append(f"{latency(trial.p50_ns)}, tolerance {trial.tolerance}")
    else:
        lines.append(f"{trial.outcome}: {trial.failure_detail[:_MOST_DETAIL]}")
    if trial.proposed_by:
        lines.append(f"proposed by: {trial.proposed_by}")
    return lines


def _interval(trial: Trial) -> str:
    if trial.ratio_low is None or trial.ratio_high is None:
        return "no interval"
    return f"{trial.ratio_low:.3f} to {trial.ratio_high:.3f}"


def _row(trial: Trial) -> tuple[str, ...]:
    return (
        str(trial.number),
        trial.candidate["backend"],
        options(trial.candidate),
        trial.proposed_by,
        trial.tolerance if trial.outcome == TrialOutcome.MEASURED else trial.outcome,
        f"{trial.ratio:.3f}" if trial.ratio else "",
        _interval(trial) if trial.ratio else "",
        latency(trial.p50_ns),
        deviation(trial.deviation),
        trial.failure_detail[:_MOST_DETAIL],
    )


def _description(measured: Sequence[Trial], failed: Sequence[Trial]) -> str:
    text = f"{len(measured)} candidate{'s' * (len(measured) != 1)} measured, {len(failed)} failed."
    if measured:
        best = min(measured, key=lambda trial: trial.ratio or inf)
        text += (
            f" The best takes {best.ratio:.3f} of the default's latency: "
            f"{best.candidate['backend']}, {options(best.candidate)}, trial {best.number}."
        )
    return text


def _failures(trials: Sequence[Trial]) -> str:
    """How many trials have no ratio, by outcome."""
    if not trials:
        return ""
    outcomes = Counter(trial.outcome for trial in trials).most_common()
    reasons = ", ".join(f"{count} {outcome}" for outcome, count in outcomes)
    return f" Ticks at the lower edge are trials without a result: {reasons}."


def _caption(count: int, outliers: int, most: float) -> str:
    text = "Latency relative to the default, measured interleaved; below 1 is faster."
    if outliers:
        text += (
            f" {outliers} of {count} measured candidates take more than {most:.3g} times the"
            " default's latency: they are arrows at the upper edge."
        )
    return text
