"""A graph of what was made from what, laid out in columns: the origins on the left.

Sugiyama's way: circles are cut open, every node gets the column behind its last source, long edges
get a place in each column they cross, and the nodes of a column are put near their neighbours.
Plain geometry, in pixels; whoever draws it knows what the nodes are.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from itertools import pairwise
from typing import TypeAlias

#: From what was used to what was made of it.
Edge: TypeAlias = tuple[str, str]
# A node, or where a long edge crosses a column.
_Stop: TypeAlias = str | tuple[Edge, int]

BOX_WIDTH, BOX_HEIGHT = 200, 46
_GAP_X, _GAP_Y, _MARGIN = 96, 18, 12
# Below the lowest box there is room for edges that go back.
_BACK = 34
_SWEEPS = 4


@dataclass(frozen=True, slots=True)
class Box:
    """Where a node lies: its upper left corner."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Curve:
    """An edge as an SVG path, and where its label stands.

    Attributes:
        is_back: It closes a circle.
    """

    edge: Edge
    path: str
    x: float
    y: float
    is_back: bool


@dataclass(frozen=True, slots=True)
class Drawing:
    """Everything in its place."""

    width: float
    height: float
    boxes: dict[str, Box]
    curves: tuple[Curve, ...]


def arrange(nodes: Sequence[str], edges: Iterable[Edge]) -> Drawing:
    """Lay out a graph.

    Args:
        nodes: Each once; those named early stand high, where nothing speaks against it.
        edges: Between different ones of ``nodes``; twice the same is once.
    """
    unique = list(dict.fromkeys(edges))
    back = _back_edges(nodes, unique)
    forward = [edge for edge in unique if edge not in back]
    columns = _columns(nodes, forward)
    ways = {edge: _way(edge, columns) for edge in forward}
    rows = _rows(nodes, columns, list(ways.values()))
    places, height = _places(rows)
    boxes = {node: places[node] for node in nodes}
    width = len(rows) * (BOX_WIDTH + _GAP_X) - _GAP_X + 2 * _MARGIN
    curves = [_curve(edge, [places[stop] for stop in way]) for edge, way in ways.items()]
    curves += [_back_curve(edge, boxes) for edge in back]
    return Drawing(width, height + (_BACK if back else 0), boxes, tuple(curves))


def _back_edges(nodes: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Edges without which there is no circle."""
    following: dict[str, list[str]] = {node: [] for node in nodes}
    for source, derived in edges:
        following[source].append(derived)
    is_done: dict[str, bool] = {}
    back: list[Edge] = []

    def visit(node: str) -> None:
        is_done[node] = False
        for other in following[node]:
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
    """Each node behind all its sources; one without sources right before what was made of it."""
    sources: dict[str, list[str]] = {node: [] for node in nodes}
    made: dict[str, list[str]] = {node: [] for node in nodes}
    for source, derived in edges:
        sources[derived].append(source)
        made[source].append(derived)
    columns: dict[str, int] = {}
    for node in TopologicalSorter(sources).static_order():
        columns[node] = max((columns[source] + 1 for source in sources[node]), default=0)
    for node in nodes:
        if made[node] and not sources[node]:
            columns[node] = min(columns[one] for one in made[node]) - 1
    return columns


def _way(edge: Edge, columns: Mapping[str, int]) -> list[_Stop]:
    """The nodes of an edge, and between them a place for each column it crosses."""
    source, derived = edge
    crossed = range(columns[source] + 1, columns[derived])
    return [source, *((edge, column) for column in crossed), derived]


def _rows(
    nodes: Sequence[str], columns: Mapping[str, int], ways: Sequence[Sequence[_Stop]]
) -> list[list[_Stop]]:
    """What stands in each column, from top to bottom, so that few edges cross."""
    rows: list[list[_Stop]] = [[] for _ in range(max(columns.values(), default=-1) + 1)]
    for node in nodes:
        rows[columns[node]].append(node)
    before: dict[_Stop, list[_Stop]] = {}
    after: dict[_Stop, list[_Stop]] = {}
    for way in ways:
        for place in way:
            if isinstance(place, tuple):
                rows[place[1]].append(place)
        for one, other in pairwise(way):
            after.setdefault(one, []).append(other)
            before.setdefault(other, []).append(one)
    for _ in range(_SWEEPS):
        for row, neighbours in zip(rows[1:], rows[:-1], strict=True):
            _sort(row, neighbours, before)
        for row, neighbours in zip(rows[-2::-1], rows[:0:-1], strict=True):
            _sort(row, neighbours, after)
    return rows


def _sort(
    row: list[_Stop],
    neighbours: Sequence[_Stop],
    linked: Mapping[_Stop, Sequence[_Stop]],
) -> None:
    """Put each of ``row`` at the height of the mean of its neighbours."""
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
    """From the right side of the first box, through the places between, to the left of the last."""
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
    """Below the boxes, from the middle of one to that of the other."""
    (x, y), (to_x, to_y) = (
        (boxes[node].x + BOX_WIDTH / 2, boxes[node].y + BOX_HEIGHT) for node in edge
    )
    points = [(x, y), (x, y + _BACK), (to_x, to_y + _BACK), (to_x, to_y)]
    start, *rest = (f"{_r(across)} {_r(down)}" for across, down in points)
    path = f"M{start}C{' '.join(rest)}"
    return Curve(edge, path, (x + to_x) / 2, (y + to_y) / 2 + _BACK * 0.75, is_back=True)


def _r(value: float) -> str:
    return f"{value:g}"
