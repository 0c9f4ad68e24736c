"""Trade-offs: a cost of builds against a benefit, with the Pareto front."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hub.pages.chart.axis import Axis, log_axis, plain
from hub.pages.chart.figure import (
    Cell,
    Chart,
    Option,
    TableColumn,
    keys_of,
    line,
    plain_option,
    series_color,
    series_symbol,
    whiskers,
)
from registry.statistics.front import pareto_front

#: Opacity of marks that another one beats in both figures.
_FADED = 0.35
#: Share of a linear axis that is left free at both ends.
_MARGIN = 0.08


@dataclass(frozen=True, slots=True)
class Scale:
    """A quantity of an axis.

    Attributes:
        name: Quantity and unit.
        label: Text of a value.
        is_high_better: Whether larger values are better.
        is_log: Whether distances show ratios; not for shares, which are between 0 and 1.
    """

    name: str
    label: Callable[[float], str] = plain
    is_high_better: bool = False
    is_log: bool = True


@dataclass(frozen=True, slots=True)
class Point:
    """A build: its two figures, the interval of the first, and its row of the table.

    Attributes:
        group: Marks of a group have one colour and shape.
    """

    id: str
    group: str
    x: float | None
    y: float | None
    low: float
    high: float
    tip: tuple[str, ...]
    row: tuple[Cell, ...]


def tradeoff(
    points: Sequence[Point],
    x: Scale,
    y: Scale,
    columns: Sequence[TableColumn],
    *,
    name: str,
    title: str,
) -> Chart | None:
    """A mark for each point that has both figures; the others are in the table only.

    Returns ``None`` without a point that has both.
    """
    placed = [each for each in points if _is_placed(each, x, y)]
    if not placed:
        return None
    x_axis = _axis(x, [end for each in placed for end in (each.x, each.low, each.high)])
    y_axis = _axis(y, [each.y for each in placed])
    best = _front(placed, x, y)
    series = [_edge(best, x_axis, y_axis, x, y)]
    groups = list(dict.fromkeys(each.group for each in points))
    for number, group in enumerate(groups):
        own = [each for each in placed if each.group == group]
        if own:
            series += _marks(own, group, number, {each.id for each in best}, (x_axis, y_axis))
    missing = len(points) - len(placed)
    return Chart(
        name=name,
        title=title,
        description=_description(best, len(placed), x, y),
        caption=_caption(x, y, missing, len(points)),
        option=plain_option(x_axis.option(), y_axis.option(is_vertical=True), series),
        columns=tuple(columns),
        rows=tuple(each.row for each in points),
        keys=keys_of(series),
    )


def _is_placed(point: Point, x: Scale, y: Scale) -> bool:
    """Whether both figures are known and, on a logarithmic axis, positive."""
    pairs = ((point.x, x), (point.y, y))
    return all(value is not None and (value > 0 or not scale.is_log) for value, scale in pairs)


def _axis(scale: Scale, values: Sequence[float | None]) -> Axis:
    every = [value for value in values if value is not None]
    if scale.is_log:
        positive = [value for value in every if value > 0]
        return log_axis(scale.name, positive, scale.label, margin=1.25)
    low, high = min(every), max(every)
    margin = max(high - low, abs(high), 1e-6) * _MARGIN
    return Axis(scale.name, low - margin, high + margin, scale.label)


def _cost(value: float | None, scale: Scale) -> float:
    """A figure, with its sign such that less is better."""
    return (-1.0 if scale.is_high_better else 1.0) * (value or 0.0)


def _front(placed: Sequence[Point], x: Scale, y: Scale) -> list[Point]:
    costs = {(_cost(each.x, x), _cost(each.y, y)) for each in placed}
    best = set(pareto_front(list(costs)))
    return sorted(
        (each for each in placed if (_cost(each.x, x), _cost(each.y, y)) in best),
        key=lambda each: (_cost(each.x, x), _cost(each.y, y)),
    )


def _edge(best: Sequence[Point], x_axis: Axis, y_axis: Axis, x: Scale, y: Scale) -> Option:
    """The front as a step line from the worst end of one axis to that of the other."""
    worst_x, worst_y = _worst(x_axis, x), _worst(y_axis, y)
    at = [[x_axis.at(each.x or 0.0), y_axis.at(each.y or 0.0)] for each in best]
    path = [[at[0][0], worst_y], *at, [worst_x, at[-1][1]]]
    return line("Pareto front", path, "soft", step="end")


def _worst(axis: Axis, scale: Scale) -> float:
    return axis.at(axis.low if scale.is_high_better else axis.high)


def _marks(
    own: Sequence[Point], group: str, number: int, best: set[str], axes: tuple[Axis, Axis]
) -> list[Option]:
    x_axis, y_axis = axes
    color = series_color(number)
    at = [(x_axis.at(each.x or 0.0), y_axis.at(each.y or 0.0)) for each in own]
    intervals = [
        [x, y, x_axis.at(each.low), x_axis.at(each.high)]
        for each, (x, y) in zip(own, at, strict=True)
        if each.low < each.high
    ]
    marks: Option = {
        "id": group,
        "name": group,
        "type": "scatter",
        "symbol": series_symbol(number),
        "symbolSize": 13,
        "itemStyle": {"color": f"--{color}"},
        "data": [
            {
                "value": list(place),
                "id": each.id,
                "tip": [*each.tip, *(["on the Pareto front"] if each.id in best else [])],
                **({} if each.id in best else {"itemStyle": {"opacity": _FADED}}),
            }
            for each, place in zip(own, at, strict=True)
        ],
    }
    return [*([whiskers(group, intervals, color, is_vertical=False)] if intervals else []), marks]


def _description(best: Sequence[Point], count: int, x: Scale, y: Scale) -> str:
    names = "; ".join(each.tip[0] for each in best[:5])
    return (
        f"{count} build{'s' * (count != 1)} by {x.name} and {y.name}. No other build beats "
        f"{len(best)} of them in both: {names}{' and others' * (len(best) > 5)}."
    )


def _caption(x: Scale, y: Scale, missing: int, total: int) -> str:
    sides = ("right" if x.is_high_better else "left", "Upper" if y.is_high_better else "Lower")
    text = f"{sides[1]} {sides[0]} is better. Faded: another build is better in both figures."
    if missing:
        text += f" {missing} of {total} builds have no figure for an axis: see the table."
    return text
