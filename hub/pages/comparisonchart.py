"""The charts of a comparison: what builds cost and are worth, by target; bars of groups."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from hub.pages.chart.figure import Chart, LinkedText, TableColumn
from hub.pages.chart.tradeoff import Point, Scale, tradeoff
from hub.pages.figuretext import figure_text, value_text
from hub.templatetags.figures import latency, options
from registry.selectors.analysis.groupdelta import GroupDelta
from registry.selectors.analysis.measuredbuild import Measure, MeasuredBuild

#: Charts on one page; further targets are in the table.
_MOST_CHARTS = 6
#: Half of the width of a bar of a difference.
_HALF = 50.0
_LINEAR = frozenset({"share"})


@dataclass(frozen=True, slots=True)
class DeltaBar:
    """A build's time in a group, and its difference to the first build as a bar.

    Attributes:
        x, width: Of the bar, between 0 and 100; the zero is at 50.
        kind: ``faster`` (blue, to the left), ``slower`` (orange, to the right) or ``same``.
        is_best: Whether no other build is faster here.
    """

    time: str
    delta: str
    x: str
    width: str
    kind: str
    precision: str
    is_best: bool


def target_charts(builds: Sequence[MeasuredBuild], cost: Measure, worth: Measure) -> list[Chart]:
    """A chart for each target, most builds first. Speeds of targets do not share a chart."""
    by_target: dict[str, list[MeasuredBuild]] = {}
    for each in builds:
        by_target.setdefault(each.build.target.slug, []).append(each)
    ordered = sorted(by_target.items(), key=lambda item: (-len(item[1]), item[0]))
    has_models = len({each.mlmodel.pk for each in builds}) > 1
    charts = [
        tradeoff(
            [_point(each, cost, worth, has_models=has_models) for each in own],
            _scale(cost),
            _scale(worth),
            _columns(cost, worth),
            name=f"tradeoff-{number}",
            title=f"{slug}{', emulated' * own[0].build.target.is_emulated}",
        )
        for number, (slug, own) in enumerate(ordered[:_MOST_CHARTS])
    ]
    return [chart for chart in charts if chart is not None]


def group_bars(group: GroupDelta, groups: Sequence[GroupDelta]) -> list[DeltaBar]:
    """The times of a group in each build; ``groups`` are all that are shown, for the scale."""
    largest = max((abs(delta) for one in groups for delta in one.deltas_ns), default=0) or 1
    bars = []
    for number, (time, delta) in enumerate(zip(group.times_ns, group.deltas_ns, strict=True)):
        width = _HALF * abs(delta) / largest
        kind = "same" if not delta else "faster" if delta < 0 else "slower"
        bars.append(
            DeltaBar(
                time=latency(time) if time else "nothing",
                delta="" if number == 0 else _signed(delta),
                x=f"{_HALF - width if delta < 0 else _HALF:.2f}",
                width=f"{width:.2f}",
                kind=kind,
                precision=group.precisions[number],
                is_best=number == group.fastest,
            )
        )
    return bars


def _signed(delta_ns: int) -> str:
    if not delta_ns:
        return "±0"
    return f"{'−' if delta_ns < 0 else '+'}{latency(abs(delta_ns))}"


def _scale(metric: Measure) -> Scale:
    def label(value: float) -> str:
        return value_text(metric.unit, value)

    is_log = metric.unit not in _LINEAR
    return Scale(metric.title, label, metric.is_high_better, is_log)


def _columns(cost: Measure, worth: Measure) -> tuple[TableColumn, ...]:
    return (
        TableColumn("Build"),
        TableColumn("Model"),
        TableColumn("Options"),
        TableColumn(cost.title.capitalize(), is_number=True),
        TableColumn("95 % interval", is_number=True),
        TableColumn(worth.title.capitalize(), is_number=True),
    )


def _point(each: MeasuredBuild, cost: Measure, worth: Measure, *, has_models: bool) -> Point:
    build = each.build
    x, y = each.figures[cost.name], each.figures[worth.name]
    # Of the costs only latency has an interval.
    low, high = each.interval_ns if cost.name == "latency" else (x or 0.0, x or 0.0)
    interval = f"{latency(low)} to {latency(high)}" if low < high else ""
    texts = figure_text(cost, x), figure_text(worth, y)
    tip = (
        f"{each.mlmodel.full_name}: {each.name}" if has_models else each.name,
        f"{cost.title} {texts[0]}" + (f", 95 % interval {interval}" if interval else ""),
        f"{worth.title} {texts[1]}",
        options(build.candidate),
    )
    return Point(
        id=str(build.uuid),
        group=f"{each.mlmodel.full_name}, {each.backend}" if has_models else each.backend,
        x=x,
        y=y,
        low=low,
        high=high,
        tip=tip,
        row=(
            LinkedText(each.name, reverse("build", args=[build.uuid])),
            each.mlmodel.full_name,
            options(build.candidate),
            texts[0],
            interval,
            texts[1],
        ),
    )
