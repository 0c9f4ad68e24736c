"""Layered drawing of a data flow: every edge goes down, nodes of a layer do not overlap.

The method is that of Sugiyama, Tagawa and Toda (1981): layers by the longest path, order within a
layer by the barycentre of the neighbours. Coordinates minimise the squared distance to the mean of
the neighbours under a least distance, which is isotonic regression (pool adjacent violators).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

#: Distance of the centres of neighbours in a layer, and of layers, in pixels at scale 1.
PITCH_X, PITCH_Y = 200, 110
#: Beyond this number of nodes, layers keep the order of the file.
MAX_ORDERED = 20_000
#: Sweeps over all layers that order them, and that move nodes.
_ORDER_SWEEPS, _PLACE_SWEEPS = 4, 4


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of nodes in pixels, from 0; ``method`` is ``layered``, or ``layers`` unordered.

    Attributes:
        ranks: Layer of each node, from 0.
        backward: Number of edges of cycles, which go up.
    """

    x: list[int]
    y: list[int]
    ranks: list[int]
    width: int
    height: int
    method: str
    backward: int


def lay_out(count: int, edges: Sequence[tuple[int, int]]) -> Layout:
    """Coordinates of ``count`` nodes with ``edges`` from producer to consumer; deterministic.

    An edge from a node to itself is ignored.
    """
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in dict.fromkeys(edges):
        if source != target:
            before[target].append(source)
            after[source].append(target)
    ranks, backward = rank(before, after)
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for node, number in enumerate(ranks):
        layers[number].append(node)
    x = [0.0] * count
    ordered = count <= MAX_ORDERED
    if ordered:
        _order(layers, before, after)
    for layer in layers:
        for place, node in enumerate(layer):
            x[node] = (place - (len(layer) - 1) / 2) * PITCH_X
    if ordered:
        for sweep in range(_PLACE_SWEEPS):
            down = sweep % 2 == 0
            for layer in layers if down else reversed(layers):
                _place(layer, before if down else after, x)
    left = min(x, default=0.0)
    return Layout(
        x=[round(value - left) + PITCH_X // 2 for value in x],
        y=[number * PITCH_Y + PITCH_Y // 2 for number in ranks],
        ranks=ranks,
        width=round(max(x, default=0.0) - left) + PITCH_X,
        height=len(layers) * PITCH_Y,
        method="layered" if ordered else "layers",
        backward=backward,
    )


def rank(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> tuple[list[int], int]:
    """Layer of each node by the longest path from a source, and the number of edges that go up.

    Sources that feed only deep nodes are moved down beside them. A cycle is cut before its first
    node of the file.
    """
    order = topological(before, after)
    place = {node: number for number, node in enumerate(order)}
    ranks = [0] * len(before)
    backward = 0
    for node in order:
        for source in before[node]:
            if place[source] < place[node]:
                ranks[node] = max(ranks[node], ranks[source] + 1)
            else:
                backward += 1
    for node in reversed(order):
        if not before[node] and after[node]:
            ranks[node] = max(0, min(ranks[target] for target in after[node]) - 1)
    return ranks, backward


def topological(before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]) -> list[int]:
    """All nodes, producers before consumers, else in the order of the file."""
    missing = [len(sources) for sources in before]
    ready = [node for node, number in enumerate(missing) if not number]
    ready.reverse()
    order: list[int] = []
    done = [False] * len(before)
    first = 0
    while len(order) < len(before):
        if not ready:
            # A cycle: its first node is taken as if its producers were done.
            while done[first]:
                first += 1
            ready.append(first)
        node = ready.pop()
        if done[node]:
            continue
        done[node] = True
        order.append(node)
        for target in reversed(after[node]):
            missing[target] -= 1
            if not missing[target] and not done[target]:
                ready.append(target)
    return order


def _order(
    layers: list[list[int]], before: Sequence[Sequence[int]], after: Sequence[Sequence[int]]
) -> None:
    """Sort each layer by the mean place of the neighbours, down and up in turn."""
    place = [0.0] * len(before)
    for layer in layers:
        _number(layer, place)
    for sweep in range(_ORDER_SWEEPS):
        down = sweep % 2 == 0
        neighbours = before if down else after
        for layer in layers if down else reversed(layers):
            if len(layer) > 1:
                keys = {node: _mean(neighbours[node], place, place[node]) for node in layer}
                layer.sort(key=keys.__getitem__)
            _number(layer, place)


def _number(layer: list[int], place: list[float]) -> None:
    middle = (len(layer) - 1) / 2
    for number, node in enumerate(layer):
        place[node] = number - middle


def _mean(nodes: Sequence[int], values: Sequence[float], default: float) -> float:
    return sum(values[node] for node in nodes) / len(nodes) if nodes else default


def _place(layer: list[int], neighbours: Sequence[Sequence[int]], x: list[float]) -> None:
    """Move the nodes of a layer to the mean of their neighbours, at least a pitch apart."""
    goals = [_mean(neighbours[node], x, x[node]) for node in layer]
    offsets = [value - number * PITCH_X for number, value in enumerate(goals)]
    for number, (node, value) in enumerate(zip(layer, isotonic(offsets), strict=True)):
        x[node] = value + number * PITCH_X


def isotonic(values: Sequence[float]) -> list[float]:
    """The non-decreasing sequence closest to ``values`` in the sum of squares."""
    pools: list[list[float]] = []
    for value in values:
        pools.append([value, 1.0])
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            mean, size = pools.pop()
            last = pools[-1]
            total = last[1] + size
            last[0] = (last[0] * last[1] + mean * size) / total
            last[1] = total
    result: list[float] = []
    for mean, size in pools:
        result += [mean] * int(size)
    # The sums of floats may decrease by a rounding error.
    for number, (left, right) in enumerate(pairwise(result)):
        if right < left:
            result[number + 1] = left
    return result
