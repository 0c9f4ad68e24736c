"""Blocks of a network whose names have no scopes: stretches that one tensor enters and one leaves,
or that begin with the same neighbourhood of operators at regular distances.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, pstdev
from typing import TypeVar

#: Nodes of a stretch that is not divided further.
SMALL = 16
#: Steps around a node whose operators make its label.
_HOPS = 2
_DEEPEST = 8
_T = TypeVar("_T")

#: A node, or the name and members of a block.
Tree = list["int | tuple[str, Tree]"]


def blocks_of(
    nodes: Sequence[int],
    operators: Sequence[str],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
) -> Tree:
    """Nodes, in topological order, divided into blocks of blocks."""
    labels = _labels(nodes, operators, before, after)
    return _divide(list(nodes), operators, after, labels, 0)


def _divide(
    nodes: list[int],
    operators: Sequence[str],
    after: Sequence[Sequence[int]],
    labels: dict[int, int],
    depth: int,
) -> Tree:
    if len(nodes) <= SMALL or depth == _DEEPEST:
        return list(nodes)
    stretches = _by_waists(nodes, after) or _by_period(nodes, labels)
    if stretches is None:
        return list(nodes)
    tree: Tree = []
    number = 0
    for stretch in stretches:
        if len(stretch) < 3:
            tree += stretch
            continue
        number += 1
        inner = _divide(stretch, operators, after, labels, depth + 1)
        tree.append((f"Block {number}: {_summary(stretch, operators)}", inner))
    return tree


def _by_waists(nodes: list[int], after: Sequence[Sequence[int]]) -> list[list[int]] | None:
    """Stretches between places where one tensor crosses; ``None`` if fewer than two are large.

    Single nodes between large stretches join the one before, as many as most of them have.
    """
    place = {node: number for number, node in enumerate(nodes)}
    ends: defaultdict[int, int] = defaultdict(int)
    open_values, waists = 0, []
    for number, node in enumerate(nodes):
        open_values -= ends.pop(number, 0)
        readers = [place[reader] for reader in after[node] if reader in place]
        if readers:
            open_values += 1
            ends[max(readers)] += 1
        if open_values <= 1:
            waists.append(number + 1)
    pieces = [nodes[start:end] for start, end in pairwise([0, *waists]) if end > start]
    pieces += [rest] if (rest := nodes[waists[-1] if waists else 0 :]) else []
    large = [number for number, piece in enumerate(pieces) if len(piece) >= 3]
    if len(large) < 2:
        return None
    gaps = Counter(right - left - 1 for left, right in pairwise(large))
    usual = gaps.most_common(1)[0][0]
    stretches: list[list[int]] = [[node for piece in pieces[: large[0]] for node in piece]]
    for number, end in zip(large, [*large[1:], len(pieces)], strict=True):
        taken = min(end, number + 1 + usual)
        stretches.append([node for piece in pieces[number:taken] for node in piece])
        stretches.append([node for piece in pieces[taken:end] for node in piece])
    return [stretch for stretch in stretches if stretch]


def _by_period(nodes: list[int], labels: dict[int, int]) -> list[list[int]] | None:
    """Stretches that begin with the label of the most regular distances; ``None`` without one."""
    places: defaultdict[int, list[int]] = defaultdict(list)
    for number, node in enumerate(nodes):
        places[labels[node]].append(number)
    best: tuple[float, int, list[int]] | None = None
    for stops in places.values():
        if len(stops) < 3:
            continue
        gaps = [right - left for left, right in pairwise(stops)]
        if min(gaps) < 2 or stops[-1] - stops[0] < len(nodes) // 3:
            continue
        candidate = (round(pstdev(gaps) / fmean(gaps), 3), -min(gaps), stops)
        if best is None or candidate < best:
            best = candidate
    if best is None:
        return None
    starts = [0, *[start for start in best[2] if start], len(nodes)]
    return [nodes[start:end] for start, end in pairwise(starts)]


def _labels(
    nodes: Sequence[int],
    operators: Sequence[str],
    before: Sequence[Sequence[int]],
    after: Sequence[Sequence[int]],
) -> dict[int, int]:
    """Number of the neighbourhood of each node: equal ones have equal operators within
    :data:`_HOPS` steps (Shervashidze et al. 2011, Weisfeiler-Lehman labels)."""
    inside = set(nodes)
    numbers: dict[object, int] = {}
    labels = {node: numbers.setdefault(operators[node], len(numbers)) for node in nodes}
    for hop in range(_HOPS):
        keys = {
            node: (
                hop,
                labels[node],
                tuple(sorted(labels[o] for o in before[node] if o in inside)),
                tuple(sorted(labels[o] for o in after[node] if o in inside)),
            )
            for node in nodes
        }
        labels = {node: numbers.setdefault(key, len(numbers)) for node, key in keys.items()}
    return labels


def _summary(nodes: Sequence[int], operators: Sequence[str]) -> str:
    """The most frequent operators, at most three."""
    short = Counter(operators[node].rpartition("::")[2][:24] for node in nodes)
    return ", ".join(name for name, _ in short.most_common(3))


def chunks(items: Sequence[_T], most: int) -> list[list[_T]]:
    """At most ``most`` runs of about equal length, which are at most ``most`` long if possible."""
    count = min(most, max(1, -(-len(items) // most)))
    bounds = [len(items) * number // count for number in range(count + 1)]
    return [list(items[start:end]) for start, end in pairwise(bounds)]
