"""Searches along a network's data flow."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator

from workers.inspection.flow import Flow, Step

#: Maximum distance in steps: a decomposed attention has at most six on each side of its softmax.
NEAR = 12


class Wiring:
    """Producer and readers of each value, over all graphs of a flow."""

    def __init__(self, flow: Flow) -> None:
        self.maker: dict[int, Step] = {}
        self.readers: defaultdict[int, list[Step]] = defaultdict(list)
        for step in flow.steps():
            for value in step.outputs:
                if value is not None:
                    self.maker[value] = step
            for value in step.inputs:
                if value is not None:
                    self.readers[value].append(step)

    def before(self, step: Step) -> Iterable[Step]:
        return (self.maker[v] for v in step.inputs if v is not None and v in self.maker)

    def after(self, step: Step) -> Iterable[Step]:
        return (reader for v in step.outputs if v is not None for reader in self.readers[v])


def reaches(
    start: Step,
    following: Callable[[Step], Iterable[Step]],
    through: frozenset[str],
    goals: set[Step],
) -> bool:
    """Whether one of ``goals`` is near ``start``, with only operators of ``through`` in between."""
    return any(step in goals for step in near(start, following, through))


def near(
    start: Step, following: Callable[[Step], Iterable[Step]], through: frozenset[str]
) -> Iterator[Step]:
    seen = {start}
    queue = deque([(start, 0)])
    while queue:
        step, distance = queue.popleft()
        if distance == NEAR or (step is not start and step.op not in through):
            continue
        for nearby in following(step):
            if nearby not in seen:
                seen.add(nearby)
                yield nearby
                queue.append((nearby, distance + 1))
