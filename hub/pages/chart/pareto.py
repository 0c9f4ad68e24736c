"""The builds of one target: latency against what they cost in exactness.

Latencies are multiples of the default's in the same interleaved run. Times of different runs, which
a machine may have done at different speeds, are not compared.
"""

from collections.abc import Mapping, Sequence

from django.urls import reverse

from hub.pages.chart.axis import Axis, error_label, log_axis, plain, ratio_label
from hub.pages.chart.figure import (
    Chart,
    LinkedText,
    Option,
    TableColumn,
    keys_of,
    line,
    plain_option,
    series_color,
    series_symbol,
    whiskers,
)
from hub.pages.speedwords import speed
from hub.templatetags.figures import latency, options, percent
from hub.templatetags.speeds import default_latency
from registry.states import ToleranceClass
from registry.statistics.front import pareto_front
from registry.tables import Build

#: Relative errors below this one are drawn at it: float32 rounds by as much.
_LEAST_ERROR = 1e-8
#: Points of accuracy that a build must lose at least, so that the chart shows accuracy.
_VISIBLE_LOSS = 0.05


def pareto(
    builds: Sequence[Build],
    default: Build | None,
    *,
    limits: Mapping[int, float] | None = None,
    name: str = "pareto",
    chosen: str = "",
) -> Chart | None:
    """Latency as a multiple of the default's, against lost accuracy or, where no build loses any,
    against the relative error.

    Args:
        builds: Of one target, each with its record; with or without the default.
        default: The baseline build, drawn as a line as well.
        limits: Key of a build to the number for ``tolerance`` that loads it.
        name: As in :class:`Chart`.
        chosen: UUID of the build that is chosen at first.

    Returns:
        A mark for each build, whose ``id`` is the build's UUID; ``None`` if none states its error
        or accuracy.
    """
    every = {str(build.uuid): build for build in [*builds, *([default] if default else [])]}
    if not every:
        return None
    shown = sorted(every.values(), key=_ratio)
    lost = [_lost_points(build) for build in shown]
    is_accuracy = None not in lost and max(one or 0.0 for one in lost) >= _VISIBLE_LOSS
    costs = lost if is_accuracy else [_error(build) for build in shown]
    placed = [(build, cost) for build, cost in zip(shown, costs, strict=True) if cost is not None]
    if not placed:
        return None
    ends = [end for build in shown for end in (_ratio(build), *_interval(build))]
    x = log_axis("latency, of the default's", ends, ratio_label)
    y = _loss_axis(placed) if is_accuracy else _error_axis(placed)
    series = _series(placed, default, x, y)
    return Chart(
        name=name,
        title="Latency and exactness of all builds",
        description=_description(shown),
        caption=_caption(shown, placed, is_accuracy=is_accuracy),
        option=plain_option(x.option(), y.option(is_vertical=True), series),
        columns=(
            TableColumn("Build"),
            TableColumn("Tolerance"),
            TableColumn("Options"),
            TableColumn("Latency", is_number=True),
            TableColumn("Default, same run", is_number=True),
            TableColumn("95 % interval", is_number=True),
            TableColumn("Gain", is_number=True),
            TableColumn("Relative error", is_number=True),
            TableColumn("Accuracy", is_number=True),
            TableColumn("Loaded by"),
        ),
        rows=tuple(_row(build, (limits or {}).get(build.pk)) for build in shown),
        keys=keys_of(series),
        chosen=chosen,
    )


def _series(
    placed: Sequence[tuple[Build, float]], default: Build | None, x: Axis, y: Axis
) -> list[Option]:
    top, bottom = y.at(y.high), y.at(y.low)
    series: list[Option] = []
    edge = pareto_front([(x.at(_ratio(build)), y.at(cost)) for build, cost in placed])
    if edge:
        path = [[edge[0][0], top], *map(list, edge), [x.at(x.high), edge[-1][1]]]
        series.append(line("Pareto front", path, "soft", step="end"))
    if default:
        at = x.at(1.0)
        dashes = {"type": "dashed"}
        series.append(line("default", [[at, bottom], [at, top]], "soft", lineStyle=dashes))
    for number, tolerance in enumerate(ToleranceClass.values):
        own = [(build, cost) for build, cost in placed if build.tolerance == tolerance]
        if not own:
            continue
        color = series_color(number)
        intervals = [
            [x.at(_ratio(build)), y.at(cost), *map(x.at, _interval(build))] for build, cost in own
        ]
        series.append(whiskers(tolerance, intervals, color, is_vertical=False))
        series.append(
            {
                "id": tolerance,
                "name": tolerance,
                "type": "scatter",
                "symbol": series_symbol(number),
                "symbolSize": 13,
                "itemStyle": {"color": f"--{color}"},
                "data": [
                    {
                        "value": [x.at(_ratio(build)), y.at(cost)],
                        "id": str(build.uuid),
                        "tip": _tip(build),
                    }
                    for build, cost in own
                ],
            }
        )
    return series


def _error_axis(placed: Sequence[tuple[Build, float]]) -> Axis:
    errors = [max(cost, _LEAST_ERROR) for _, cost in placed]
    return log_axis("relative error of the outputs", errors, error_label, margin=2.5)


def _loss_axis(placed: Sequence[tuple[Build, float]]) -> Axis:
    losses = [cost for _, cost in placed]
    low, high = min(0.0, *losses), max(0.0, *losses)
    margin = (high - low) * 0.1
    return Axis("lost accuracy, percentage points", low - margin, high + margin, plain)


def _error(build: Build) -> float | None:
    """Largest relative L2 error of the outputs."""
    return build.relative_error


def _lost_points(build: Build) -> float | None:
    """Percentage points of accuracy below the reference."""
    if build.accuracy is None or build.accuracy_reference is None:
        return None
    return 100 * (build.accuracy_reference - build.accuracy)


def _ratio(build: Build) -> float:
    return 1.0 if build.is_baseline else build.ratio


def _interval(build: Build) -> tuple[float, float]:
    """95 % interval of the ratio."""
    low, high = build.record.ratio_low, build.record.ratio_high
    if build.is_baseline or low is None or high is None:
        return _ratio(build), _ratio(build)
    return low, high


def _gain(build: Build) -> str:
    return "" if build.is_baseline else speed(build.ratio)


def _interval_text(build: Build) -> str:
    low, high = _interval(build)
    return "" if low == high else f"{ratio_label(low)} to {ratio_label(high)}"


def _accuracy(build: Build) -> str:
    if build.accuracy is None:
        return ""
    reference = build.accuracy_reference
    return percent(build.accuracy) + (f" of {percent(reference)}" if reference is not None else "")


def _tip(build: Build) -> list[str]:
    error, interval, accuracy = _error(build), _interval_text(build), _accuracy(build)
    name = "default" if build.is_baseline else build.tolerance
    lines = [
        f"{name}: {build.candidate['backend']}",
        _beside(build),
        f"{ratio_label(build.ratio)} of the default's, 95 % interval {interval}"
        if interval
        else "",
        _gain(build),
        "" if error is None else f"outputs differ by {error_label(error)}",
        f"accuracy {accuracy}" if accuracy else "",
        options(build.candidate),
    ]
    return [each for each in lines if each]


def _row(build: Build, limit: float | None) -> tuple[str | LinkedText, ...]:
    error = _error(build)
    name = build.candidate["backend"] + (", default" if build.is_baseline else "")
    return (
        LinkedText(name, reverse("build", args=[build.uuid])),
        build.tolerance,
        options(build.candidate),
        latency(build.p50_ns),
        "" if build.is_baseline else default_latency(build),
        _interval_text(build),
        _gain(build),
        "" if error is None else error_label(error),
        _accuracy(build),
        "" if limit is None else f"tolerance={limit}",
    )


def _description(shown: Sequence[Build]) -> str:
    fastest = shown[0]
    text = (
        f"{len(shown)} build{'s' * (len(shown) != 1)}. The fastest takes "
        f"{_beside(fastest)}: {fastest.candidate['backend']}, {fastest.tolerance}"
    )
    return f"{text}, {_gain(fastest)}." if _gain(fastest) else f"{text}."


def _beside(build: Build) -> str:
    """The latency, and the default's in the same run."""
    beside = "" if build.is_baseline else f", the default {default_latency(build)} in the same run"
    return latency(build.p50_ns) + beside


def _caption(
    shown: Sequence[Build], placed: Sequence[tuple[Build, float]], *, is_accuracy: bool
) -> str:
    text = "Lower left is better: faster and "
    text += "more accurate." if is_accuracy else "closer to unoptimised float32."
    text += " Latency is a multiple of the default's in the same run; whiskers are 95 % intervals."
    if missing := len(shown) - len(placed):
        text += f" {missing} of {len(shown)} builds state no error: they are in the table only."
    return text
