"""Layered layout of a directed graph in columns, with the sources on the left.

Sugiyama's method: cycles are broken, each node gets the column after its last source, long edges
get a point in each column they cross, and the nodes of a column are sorted by the mean position of
their neighbours. Pure geometry in pixels.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TypeAlias

#: Source and derived node.
Edge: TypeAlias = tuple[str, str]
# A node, or the point at which a long edge crosses a column.
_Stop: TypeAlias = str | tuple[Edge, int]

BOX_WIDTH, BOX_HEIGHT = 200, 46
_GAP_X, _GAP_Y, _MARGIN = 96, 18, 12
# Room for back edges below the lowest box.
_BACK = 34
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """Upper left corner of a node."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge as an SVG path, with its label at ``x``, ``y``; ``is_back`` if it closes a cycle."""

    edge: Edge
    path: str
    x: float
    y: float
    is_back: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """The layout of a graph."""

    width: float
    height: float
    boxes: dict[str, Box]
    curves: tuple[Curve, ...]


def arrange(nodes: Sequence[str], edges: Iterable[Edge]) -> Drawing:
    """Lay out a graph.

    ``nodes`` are distinct keys; earlier ones are placed higher where possible. ``edges`` connect
    different nodes; duplicates have no effect.
    """
    unique = list(dict.fromkeys(edges))
    back = _back_edges(nodes, unique)
    forward = [edge for edge in unique if edge not in back]
    columns = _columns(nodes, forward)
    routes = {edge: _route(edge, columns) for edge in forward}
    rows = _rows(nodes, columns, list(routes.values()))
    places, height = _places(rows)
    boxes = {node: places[node] for node in nodes}
    width = len(rows) * (BOX_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    curves = [_curve(edge, [places[stop] for stop in route]) for edge, route in routes.items()]
    curves += [_back_curve(edge, boxes) for edge in back]
    return Drawing(width, height + (_BACK if back else 0), boxes, tuple(curves))


def _back_edges(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Edges whose removal breaks all cycles."""
    successors: dict[str, list[str]] = {node: [] for node in nodes}
    for source, derived in edges:
        successors[source].append(derived)
    is_done: dict[str, bool] = {}
    back: list[Edge] = []

    def visit(node: str) -> None:
        is_done[node] = False
        for other in successors[node]:
            if other not in is_done:
                visit(other)
            elif not is_done[other]:
                back.append((node, other))
        is_done[node] = True

    for node in nodes:
        if node not in is_done:
            visit(node)
    return back


def _columns(nodes: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Column of each node: after all its sources, or right before its successors if it has none."""
    sources: dict[str, list[str]] = {node: [] for node in nodes}
    derivatives: dict[str, list[str]] = {node: [] for node in nodes}
    for source, derived in edges:
        sources[derived].append(source)
        derivatives[source].append(derived)
    columns: dict[str, int] = {}
    for node in TopologicalSorter(sources).static_order():
        columns[node] = max((columns[source] + 1 for source in sources[node]), default=0)
    for node in nodes:
        if derivatives[node] and not sources[node]:
            columns[node] = min(columns[one] for one in derivatives[node]) - 1
    return columns


def _route(edge: Edge, columns: Mapping[str, int]) -> list[_Stop]:
    source, derived = edge
    crossed = range(columns[source] + 1, columns[derived])
    return [source, *((edge, column) for column in crossed), derived]


def _rows(
    nodes: Sequence[str], columns: Mapping[str, int], routes: Sequence[Sequence[_Stop]]
) -> list[list[_Stop]]:
    """The stops of each column from top to bottom, sorted so that few edges cross."""
    rows: list[list[_Stop]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for node in nodes:
        rows[columns[node]].append(node)
    before: dict[_Stop, list[_Stop]] = {}
    after: dict[_Stop, list[_Stop]] = {}
    for route in routes:
        for place in route:
            if isinstance(place, tuple):
                rows[place[1]].append(place)
        for one, other in pairwise(route):
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    for _ in range(_SWEEPS):
        for row, neighbours in zip(rows[1:], rows[:-1], strict=True):
            _sort(row, neighbours, before)
        for row, neighbours in zip(rows[-2::-1], rows[:0:-1], strict=True):
            _sort(row, neighbours, after)
    return rows


def _sort(
    row: list[_Stop], neighbours: Sequence[_Stop], linked: Mapping[_Stop, Sequence[_Stop]]
) -> None:
    at = {place: number for number, place in enumerate(neighbours)}
    own = {place: float(number) for number, place in enumerate(row)}

    def height(place: _Stop) -> float:
        heights = [at[one] for one in linked.get(place, ())]
        return sum(heights) / len(heights) if heights else own[place]

    row.sort(key=height)


def _places(rows: Sequence[Sequence[_Stop]]) -> tuple[dict[_Stop, Box], float]:
    tallest = max((len(row) for row in rows), default=0)
    step = BOX_HEIGHT + _GAP_Y
    places = {}
    for column, row in enumerate(rows):
        top = _MARGIN + (tallest - len(row)) * step / 2
        for number, place in enumerate(row):
            x = _MARGIN + column * (BOX_WIDTH + _GAP_X)
            places[place] = Box(x, top + number * step)
    return places, tallest * step - _GAP_Y + 2 * _MARGIN


def _curve(edge: Edge, stops: Sequence[Box]) -> Curve:
    """Curve from the right side of the first box through the stops to the left side of the last."""
    middle = BOX_HEIGHT / 2
    path = f"M{_r(stops[0].x + BOX_WIDTH)} {_r(stops[0].y + middle)}"
    for one, other in pairwise(stops):
        bend = _r(other.x - _GAP_X / 2)
        height = _r(other.y + middle)
        path += f"C{bend} {_r(one.y + middle)} {bend} {height} {_r(other.x)} {height}"
        if other is not stops[-1]:
            path += f"H{_r(other.x + BOX_WIDTH)}"
    return Curve(
        edge,
        path,
        x=stops[-1].x - _GAP_X / 2,
        y=(stops[-2].y + stops[-1].y) / 2 + middle,
        is_back=False,
    )


def _back_curve(edge: Edge, boxes: Mapping[str, Box]) -> Curve:
    """Curve below the boxes, from the middle of one to the middle of the other."""
    (x, y), (to_x, to_y) = (
        (boxes[node].x + BOX_WIDTH / 2, boxes[node].y + BOX_HEIGHT) for node in edge
    )
    points = [(x, y), (x, y + _BACK), (to_x, to_y + _BACK), (to_x, to_y)]
    start, *rest = (f"{_r(across)} {_r(down)}" for across, down in points)
    path = f"M{start}C{' '.join(rest)}"
    return Curve(edge, path, (x + to_x) / 2, (y + to_y) / 2 + _BACK * 0.75, is_back=True)


def _r(value: float) -> str:
    return f"{value:g}"
