"""FAIR scores: of one repository over time, and of all records."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from hub.pages.chart.axis import Axis, linear_ticks, percent_label
from hub.pages.chart.figure import Chart, Key, LinkedText, TableColumn, plain_option

_BANDS = 10


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """One assessment run: ``percent`` from 0 to 100, ``label`` as tooltip, ``points`` as text, and
    the ``version`` of the repository."""

    at: datetime
    percent: float
    label: str
    points: str
    version: LinkedText


def history(runs: Sequence[ScoredRun], *, name: str = "history") -> Chart | None:
    """Scores over time as steps, oldest first; ``None`` for fewer than two runs."""
    if len(runs) < 2:
        return None
    y = Axis("points", 0.0, 100.0, percent_label)
    return Chart(
        name=name,
        title="FAIR score over time",
        description=(
            f"{len(runs)} assessments; the first gave {runs[0].percent:.0f} % of the points,"
            f" the last {runs[-1].percent:.0f} %."
        ),
        caption="Share of the points that each assessment gave.",
        option=plain_option(
            {"type": "time", "splitLine": {"show": False}},
            y.option(is_vertical=True),
            [
                {
                    "id": "score",
                    "name": "FAIR score",
                    "type": "line",
                    "step": "end",
                    "symbol": "circle",
                    "symbolSize": 9,
                    "lineStyle": {"color": "--series-1", "width": 1.6},
                    "itemStyle": {"color": "--series-1"},
                    "data": [
                        {"value": [run.at.isoformat(), round(run.percent, 2)], "tip": [run.label]}
                        for run in runs
                    ],
                }
            ],
        ),
        columns=(
            TableColumn("When"),
            TableColumn("Version"),
            TableColumn("Points", is_number=True),
            TableColumn("Share", is_number=True),
        ),
        rows=tuple(
            (f"{run.at:%Y-%m-%d %H:%M}", run.version, run.points, f"{run.percent:.0f} %")
            for run in reversed(runs)
        ),
        height=240,
    )


def distribution(percents: Sequence[int], *, name: str = "distribution") -> Chart | None:
    """Records by percentage in bands of ten; the last band includes 100.

    ``percents``: number of records per percentage, 0 to 100. ``None`` if all are zero.
    """
    if not any(percents):
        return None
    counts = [sum(percents[10 * band : 10 * band + 10]) for band in range(_BANDS)]
    counts[-1] += sum(percents[100:])
    labels = [
        f"{10 * band}–{100 if band == _BANDS - 1 else 10 * band + 9}" for band in range(_BANDS)
    ]
    total = sum(counts)
    ticks = [tick for tick in linear_ticks(0.0, max(counts)) if tick == int(tick)]
    return Chart(
        name=name,
        title="Records by FAIR score",
        description=(
            f"{total} record{'s' * (total != 1)}; most are at "
            f"{labels[counts.index(max(counts))]} % of the points."
        ),
        caption="Records by their share of the points, in percent.",
        option=plain_option(
            {"type": "category", "data": labels, "axisTick": {"show": False}},
            {
                "type": "value",
                "min": 0,
                "axisLabel": {"customValues": ticks, "texts": [f"{tick:.0f}" for tick in ticks]},
                "axisTick": {"customValues": ticks},
            },
            [
                {
                    "id": "records",
                    "name": "records",
                    "type": "bar",
                    "itemStyle": {"color": "--series-1"},
                    "data": [
                        {"value": count, "tip": [f"{label} % of the points", f"{count} records"]}
                        for label, count in zip(labels, counts, strict=True)
                    ],
                }
            ],
        ),
        columns=(TableColumn("Share of the points"), TableColumn("Records", is_number=True)),
        rows=tuple((f"{label} %", str(n)) for label, n in zip(labels, counts, strict=True)),
        keys=(Key("records", "rect", "series-1"),),
        height=240,
    )
