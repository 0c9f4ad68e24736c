"""How well the cost model of a search for schedules ranked what was measured."""

from collections.abc import Sequence

from hub.pages.chart.axis import Axis, log_axis, plain, ratio_label, time_label
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
from hub.pages.chart.trialmarks import MOST_ROWS, drawn, hidden_text, scatter, tip_of
from registry.selectors.analysis.evidence import ROUND_TOP, PredictionRound
from registry.selectors.analysis.workloadsearch import SearchTrial
from registry.tables import Trial


def model_by_round(rounds: Sequence[PredictionRound]) -> Chart | None:
    """Rank correlation and recall of each round; ``None`` if a round has too few predictions."""
    # Any order finds all of the fastest among as many trials.
    if not rounds or rounds[0].trials <= ROUND_TOP:
        return None
    x = Axis("trial", 0, max(one.last for one in rounds) + 1)
    y = Axis("1 is perfect, 0 is chance", -1.0, 1.0, plain)
    series: list[Option] = [
        line("no correlation", [[x.low, 0], [x.high, 0]], "soft", lineStyle={"type": "dashed"})
    ]
    series += _figures(rounds)
    size = rounds[0].trials
    return Chart(
        name="model-rounds",
        title="Cost model by round",
        description="; ".join(
            f"trials {one.first} to {one.last}: {_figure(one.correlation)}" for one in rounds[:20]
        ),
        caption=(
            f"Each round has {size} trials in order; every prediction was made before its trial "
            f"was measured. A random order finds {ROUND_TOP}/{size} of the fastest {ROUND_TOP}."
        ),
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("Trials"),
            TableColumn("With prediction", is_number=True),
            TableColumn("Rank correlation", is_number=True),
            TableColumn(f"Recall of the fastest {ROUND_TOP}", is_number=True),
        ),
        rows=tuple(
            (
                f"{one.first} to {one.last}",
                str(one.trials),
                _figure(one.correlation),
                _share(one.recall),
            )
            for one in rounds
        ),
        keys=keys_of(series),
        height=240,
    )


def predicted_and_measured(trials: Sequence[SearchTrial]) -> Chart | None:
    """Score against time, the trials of each quarter in a colour; ``None`` below three pairs."""
    pairs = [t for t in trials if t.predicted is not None and t.time_s is not None]
    if len(pairs) < 3:
        return None
    scores = [trial.predicted or 0.0 for trial in pairs]
    span = max(scores) - min(scores) or 1.0
    x = Axis(
        "predicted score, higher is faster", min(scores) - 0.05 * span, max(scores) + 0.05 * span
    )
    y = log_axis("measured time", [1e9 * (t.time_s or 0.0) for t in pairs], time_label)
    shown = {trial.position for trial in drawn(pairs)}
    series: list[Option] = []
    for quarter, label in enumerate(("first quarter", "second", "third", "last quarter")):
        start, end = (len(pairs) * at // 4 for at in (quarter, quarter + 1))
        own = [trial for trial in pairs[start:end] if trial.position in shown]
        if own:
            marks = [
                {
                    "value": [x.at(t.predicted or 0.0), y.at(1e9 * (t.time_s or 0.0))],
                    "tip": tip_of(t),
                }
                for t in own
            ]
            series.append(scatter(label, marks, quarter))
    return Chart(
        name="predicted-measured",
        title="Predicted against measured",
        description=f"{len(pairs)} trials with a prediction.",
        caption="A perfect model falls from upper left to lower right. Scores of different rounds "
        "come from different states of the model."
        + hidden_text(len(pairs) - len(shown), len(pairs)),
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("Trial", is_number=True),
            TableColumn("Predicted", is_number=True),
            TableColumn("Measured", is_number=True),
        ),
        rows=tuple(
            (str(t.position), f"{t.predicted:.4g}", time_label(1e9 * (t.time_s or 0.0)))
            for t in pairs[:MOST_ROWS]
        ),
        keys=keys_of(series),
        height=280,
    )


def predicted_ratios(trials: Sequence[Trial]) -> Chart | None:
    """Predicted against measured ratio of candidates; ``None`` below three pairs."""
    pairs = [trial for trial in trials if trial.predicted_ratio and trial.ratio]
    if len(pairs) < 3:
        return None
    predicted = [trial.predicted_ratio or 1.0 for trial in pairs]
    ratios = [trial.ratio or 1.0 for trial in pairs]
    x = log_axis("predicted ratio to the default", predicted, ratio_label)
    y = log_axis("measured ratio", ratios, ratio_label)
    low, high = max(x.low, y.low), min(x.high, y.high)
    series = [
        scatter(
            backend,
            [
                {
                    "value": [x.at(trial.predicted_ratio or 1.0), y.at(trial.ratio or 1.0)],
                    "tip": [
                        f"Trial {trial.number}: {backend}",
                        f"predicted {trial.predicted_ratio:.3f}, measured {trial.ratio:.3f}",
                    ],
                }
                for trial in pairs
                if trial.candidate["backend"] == backend
            ],
            number,
        )
        for number, backend in enumerate(dict.fromkeys(t.candidate["backend"] for t in pairs))
    ]
    if low < high:
        ends = [[x.at(value), y.at(value)] for value in (low, high)]
        series.append(line("as predicted", ends, "soft", lineStyle={"type": "dashed"}))
    return Chart(
        name="predicted-measured",
        title="Predicted against measured",
        description=f"{len(pairs)} candidates with a prediction.",
        caption="Each prediction was made before its candidate was measured.",
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("Trial", is_number=True),
            TableColumn("Backend"),
            TableColumn("Predicted", is_number=True),
            TableColumn("Measured", is_number=True),
        ),
        rows=tuple(
            (
                str(trial.number),
                trial.candidate["backend"],
                f"{trial.predicted_ratio:.3f}",
                f"{trial.ratio:.3f}",
            )
            for trial in pairs
        ),
        keys=keys_of(series),
        height=280,
    )


def _figures(rounds: Sequence[PredictionRound]) -> list[Option]:
    figures = {
        "rank correlation": [one.correlation for one in rounds],
        f"recall of the fastest {ROUND_TOP}": [one.recall for one in rounds],
    }
    series: list[Option] = []
    for number, (label, values) in enumerate(figures.items()):
        color = series_color(number)
        series.append(
            {
                "id": label,
                "name": label,
                "type": "line",
                "showSymbol": True,
                "symbol": series_symbol(number),
                "symbolSize": 9,
                "lineStyle": {"color": f"--{color}", "width": 1.4},
                "itemStyle": {"color": f"--{color}"},
                "data": [
                    {
                        "value": [(one.first + one.last) / 2, round(value, 4)],
                        "tip": _round_tip(one),
                    }
                    for one, value in zip(rounds, values, strict=True)
                    if value is not None
                ],
            }
        )
    return series


def _round_tip(one: PredictionRound) -> list[str]:
    return [
        f"Trials {one.first} to {one.last}, {one.trials} with a prediction",
        f"rank correlation {_figure(one.correlation)}",
        f"recall of the fastest {ROUND_TOP}: {_share(one.recall)}",
    ]


def _figure(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "not defined" if value is None else f"{100 * value:.0f} %"
