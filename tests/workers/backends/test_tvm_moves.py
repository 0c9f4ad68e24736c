"""Decisions of schedules, changed and carried over: pure JSON, no TVM."""

from math import prod
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.backends.tvm.tuning.moves import adapt, cut, neighbours

SKETCH = [
    ["GetLoops", ["b0"], [], ["l0", "l1"]],
    ["SamplePerfectTile", ["l0"], [4, 64], ["v0", "v1", "v2", "v3"]],
    ["SamplePerfectTile", ["l1"], [2, 16], ["v4", "v5"]],
    ["SampleCategorical", [], [[0, 16, 64], [0.3, 0.3, 0.4]], ["v6"]],
    ["SampleComputeLocation", ["b0"], [], ["l2"]],
]


def decisions(outer: list[int], inner: list[int], choice: int, location: int) -> Any:
    return [[1, outer], [2, inner], [3, choice], [4, location]]


factors = st.integers(1, 12)
some = st.builds(
    decisions,
    st.lists(factors, min_size=4, max_size=4),
    st.tuples(factors, st.integers(1, 16)).map(list),
    st.integers(0, 2),
    st.integers(-2, 6),
)


@given(some)
def test_every_neighbour_differs_in_one_decision_and_fits_the_loops(now: Any) -> None:
    for other in neighbours(SKETCH, now):
        changed = [n for n in range(4) if other[n] != now[n]]
        assert len(changed) == 1
        assert [index for index, _ in other] == [1, 2, 3, 4]
        assert prod(other[0][1]) == prod(now[0][1])
        assert prod(other[1][1]) == prod(now[1][1])
        assert other[1][1][-1] <= 16
        assert other[2][1] in {0, 1, 2}
        assert other[3][1] >= -2


def test_a_step_can_always_be_taken_back() -> None:
    now = decisions([2, 1, 7, 16], [4, 4], 1, 3)
    for other in neighbours(SKETCH, now):
        assert now in list(neighbours(SKETCH, other))


@given(some, some)
def test_decisions_carried_over_fit_the_other_workloads_loops(old: Any, new: Any) -> None:
    found = adapt(SKETCH, old, SKETCH, new)
    assert found is not None
    assert prod(found[0][1]) == prod(new[0][1])
    assert prod(found[1][1]) == prod(new[1][1])
    assert found[1][1][-1] <= 16
    assert found[2:] == old[2:]


def test_the_same_loops_keep_their_decisions() -> None:
    now = decisions([2, 1, 7, 16], [4, 4], 1, 3)
    assert adapt(SKETCH, now, SKETCH, now) == now


def test_half_the_channels_keep_the_inner_tiles() -> None:
    old = decisions([4, 1, 4, 16], [8, 8], 2, -1)
    new = decisions([128, 1, 1, 1], [32, 1], 0, 0)
    assert adapt(SKETCH, old, SKETCH, new) == decisions([2, 1, 4, 16], [4, 8], 2, -1)


def test_other_sketches_take_nothing_over() -> None:
    now = decisions([2, 1, 7, 16], [4, 4], 1, 3)
    assert adapt(SKETCH, now, SKETCH[:4], now[:3]) is None


def test_what_postprocessing_derives_is_cut_off() -> None:
    now = decisions([2, 1, 7, 16], [4, 4], 1, 3)
    trace = [[*SKETCH, ["EnterPostproc", [], [], []], ["SampleCategorical", [], [], []]], now]
    trace[1] = [*now, [6, 1]]
    assert cut(trace) == (SKETCH, now)
    assert cut([SKETCH, now]) == (SKETCH, now)
