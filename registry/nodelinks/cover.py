"""Exact cover of a network by its calls, in the order of execution.

Each call is to take one of its places such that no node is computed twice, every heavy node is
computed, and every value is computed before a call reads it. This is a depth-first search over the
calls, as in Knuth's algorithm X with the calls as columns, bounded by a number of checks; the cover
with the fewest calls without a place and heavy nodes without a call wins.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from registry.nodelinks.isomorphism import Place
from registry.nodelinks.network import LinkNetwork

#: Bound on the places that are checked. Half a second.
MOST_CHECKS = 150_000
#: Places whose last node lies further from the first node without a call are not tried: a runtime
#: that executes branches so far ahead is not matched.
_WINDOW = 128


@dataclass(frozen=True, slots=True)
class CoverColumn:
    """A call to be covered.

    Attributes:
        places: Where it may be, in topological order of their last nodes; of a fixed one the
            largest first.
        is_fixed: The profile names its nodes, which all places have: it takes the first place whose
            other nodes can be computed at its turn, else the last, which has no others. Whatever
            the named nodes depend on was computed before.
        named: For a fixed one the nodes that the profile names.
        takes_region: It computes heavy nodes that its place does not list.
        may_absorb: It may be preceded by nodes without a call that are not heavy, such as those
            that a compiler evaluated. Tried only where no other place is free.
    """

    places: Sequence[Place]
    is_fixed: bool = False
    named: Place = ()
    takes_region: bool = False
    may_absorb: bool = False


@dataclass(frozen=True, slots=True)
class Cover:
    """A place for each call, or ``None``.

    Attributes:
        alike: For each call the other places with as many nodes that it could have taken at its
            turn.
        missed: Heavy nodes that no call computes.
    """

    chosen: tuple[Place | None, ...]
    alike: tuple[tuple[Place, ...], ...]
    missed: frozenset[int]


@dataclass(slots=True)
class _Frame:
    """A call of the search, with the options that are left and what the last one changed."""

    number: int
    cost: int
    first: int
    options: list[Place | None]
    added: set[int] = field(default_factory=set)
    missed: set[int] = field(default_factory=set)


class _Search:
    def __init__(self, network: LinkNetwork, columns: Sequence[CoverColumn]) -> None:
        self._network, self._columns = network, columns
        self._position = {index: number for number, index in enumerate(network.order)}
        self._ranks: dict[int, list[int]] = {}
        self._chosen: list[Place | None] = [None] * len(columns)
        self._alike: list[tuple[Place, ...]] = [()] * len(columns)
        self._covered: set[int] = set()
        self._missed: set[int] = set()
        self._checks = 0
        self._has_cover = False
        self._least = len(columns) + len(network.heavy) + 1
        self.best = Cover(tuple(self._chosen), tuple(self._alike), network.heavy)

    def run(self) -> Cover:
        """Depth-first with an explicit stack: networks have more calls than Python has frames."""
        stack = [self._frame(0, 0, 0)]
        while stack and (self._checks < MOST_CHECKS or not self._has_cover):
            frame = stack[-1]
            self._undo(frame)
            if not frame.options or frame.cost >= self._least:
                stack.pop()
                continue
            cost = self._take(frame, frame.options.pop(0))
            if cost >= self._least:
                continue
            if frame.number + 1 < len(self._columns):
                stack.append(self._frame(frame.number + 1, cost, frame.first))
                continue
            self._keep(cost)
            if self._least == 0:
                break
        return self.best

    def _frame(self, number: int, cost: int, first: int) -> _Frame:
        column, order = self._columns[number], self._network.order
        covered, free = self._covered, self._network.free
        while first < len(order) and (order[first] in covered or order[first] in free):
            first += 1
        if column.is_fixed:
            return _Frame(number, cost, first, [self._fixed(column)])
        ranks = self._ranks.get(id(column.places))
        if ranks is None:
            ranks = [max(self._position[index] for index in place) for place in column.places]
            self._ranks[id(column.places)] = ranks
        # Free nodes may be computed later than what follows them.
        start, end = bisect_left(ranks, first - _WINDOW), bisect_right(ranks, first + _WINDOW)
        near = column.places[start:end]
        ready = [place for place in near if self._is_ready(place, self._network.needs)]
        if not ready and column.may_absorb:
            ready = [place for place in near if self._is_ready(place, self._network.heavy_needs)]
        ready.sort(key=lambda place: (self._position[place[0]], -len(place)))
        self._alike[number] = tuple(
            place for place in ready[1:] if len(place) == len(ready[0]) and place[0] != ready[0][0]
        )
        return _Frame(number, cost, first, [*ready, None])

    def _fixed(self, column: CoverColumn) -> Place:
        before = self._waiting(column.named)
        for place in column.places:
            others = [index for index in place if index not in column.named]
            needed = {need for index in others for need in self._network.needs[index]}
            if self._covered.isdisjoint(others) and needed <= self._covered | before | set(place):
                return place
        return column.places[-1]

    def _is_ready(self, place: Place, needs: Sequence[frozenset[int]]) -> bool:
        self._checks += 1
        return self._covered.isdisjoint(place) and all(
            need in self._covered or need in place for index in place for need in needs[index]
        )

    def _take(self, frame: _Frame, option: Place | None) -> int:
        column = self._columns[frame.number]
        self._chosen[frame.number] = option
        if option is None:
            return frame.cost + (1 if column.places else 0)
        frame.added = set(option) - self._covered
        if column.is_fixed or column.may_absorb:
            before = self._waiting(option)
            frame.added |= before
            if not column.takes_region:
                frame.missed = before & self._network.heavy
        self._covered |= frame.added
        self._missed |= frame.missed
        return frame.cost + len(frame.missed)

    def _waiting(self, place: Place) -> set[int]:
        """Nodes before a place that no call has computed. The walk ends at computed ones, before
        which everything is computed."""
        reached: set[int] = set()
        stack = list(place)
        while stack:
            for source in self._network.before[stack.pop()]:
                if source not in reached and source not in self._covered and source not in place:
                    reached.add(source)
                    stack.append(source)
        return reached

    def _undo(self, frame: _Frame) -> None:
        self._covered -= frame.added
        self._missed -= frame.missed
        frame.added, frame.missed = set(), set()

    def _keep(self, cost: int) -> None:
        self._has_cover = True
        uncovered = self._network.heavy - self._covered
        if cost + len(uncovered) < self._least:
            self._least = cost + len(uncovered)
            missed = frozenset(self._missed | uncovered)
            self.best = Cover(tuple(self._chosen), tuple(self._alike), missed)


def cover(network: LinkNetwork, columns: Sequence[CoverColumn]) -> Cover:
    """The best cover that is found within :data:`MOST_CHECKS`."""
    if not columns:
        return Cover((), (), network.heavy)
    return _Search(network, columns).run()
