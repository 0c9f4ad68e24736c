"""The Pareto front, compared with the definition."""

from hypothesis import given
from hypothesis import strategies as st

from registry.statistics.front import pareto_front


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=20))
def test_the_front_are_the_points_that_none_dominates(points: list[tuple[int, int]]) -> None:
    def is_dominated(point: tuple[int, int]) -> bool:
        return any(
            other != point and other[0] <= point[0] and other[1] <= point[1] for other in points
        )

    assert pareto_front(points) == sorted({one for one in points if not is_dominated(one)})
