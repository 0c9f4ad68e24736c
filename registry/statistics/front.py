"""The Pareto front."""

from collections.abc import Sequence


def pareto_front(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one beats in both values, sorted by the first; smaller is better.
    Of equal points there is one."""
    best: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best
