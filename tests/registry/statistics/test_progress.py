"""The end of a search."""

from hypothesis import given
from hypothesis import strategies as st

from registry.statistics.progress import best_so_far, plateau

TIMES = st.lists(st.none() | st.floats(1e-6, 1e3), max_size=40)


@given(TIMES)
def test_each_step_is_the_smallest_so_far(times: list[float | None]) -> None:
    steps = dict(best_so_far(times))
    smallest = None
    for at, time in enumerate(times):
        if time is not None and (smallest is None or time < smallest):
            smallest = time
            assert steps.pop(at) == time
    assert not steps


@given(TIMES)
def test_figures_stay_in_their_ranges(times: list[float | None]) -> None:
    end = plateau(times)
    assert 0 <= end.end_share <= 1 + 1e-9
    assert 0 <= end.chance <= 1
    assert 0 <= end.since <= len(times)
    if end.best is not None:
        assert times[end.best] == min(time for time in times if time is not None)
        assert end.last_gain is not None
        assert end.last_gain <= end.best


def test_a_flat_end_and_a_falling_one() -> None:
    flat = plateau([8.0, 4.0, 2.0, *[2.0] * 17])
    assert (flat.last_gain, flat.since, flat.end_share) == (2, 17, 0.0)
    assert flat.chance == 3 / 20
    falling = plateau([2.0**-n for n in range(20)])
    assert falling.since == 0
    assert 0.2 < falling.end_share < 0.4


def test_gains_below_the_noise_add_up_but_do_not_count_each() -> None:
    end = plateau([1.0, 0.99, 0.985, 0.979, 0.978], gain=0.02)
    assert end.last_gain == 3


def test_a_search_without_a_measured_trial() -> None:
    assert plateau([None, None]).best is None
    assert plateau([]).trials == 0
