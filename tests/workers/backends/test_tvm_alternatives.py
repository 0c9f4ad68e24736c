"""Which value replaces a decision that an ablation reverts."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from workers.backends.tvm.tuning.alternatives import reversals
from workers.engine.schedules.types import ScheduleCandidate, ScheduleOutcome, ScheduleTrial

SKETCH: list[Any] = [
    ["GetLoops", ["b0"], [], ["l1"]],
    ["SamplePerfectTile", ["l1"], [4, 64], ["v1"]],
    ["SampleCategorical", [], [[0, 16, 64, 512], [0.25] * 4], ["v5"]],
    ["SampleComputeLocation", ["b0"], [], ["l57"]],
]


def candidate(tile: list[int], unroll: int, location: int, sketch: Any = None) -> ScheduleCandidate:
    decisions = [[1, tile], [2, unroll], [3, location]]
    return ScheduleCandidate("k", sketch or SKETCH, decisions, "evolution", 0.5)


def trial(seconds: float | None, of: ScheduleCandidate) -> ScheduleTrial:
    if seconds is None:
        return ScheduleTrial(0, of, ScheduleOutcome("crash"))
    return ScheduleTrial(0, of, ScheduleOutcome("measured", (seconds,)))


BEST = candidate([1, 2, 2, 16], 2, 3)


def alternatives(best: ScheduleCandidate, *trials: ScheduleTrial) -> list[tuple[int, Any, str]]:
    return [(each.position, each.value, each.reason) for each in reversals(best, trials)]


def test_without_other_trials_the_plain_loop_nest_is_the_alternative() -> None:
    assert alternatives(BEST, trial(1.0, BEST)) == [
        (0, [64, 1, 1, 1], "not tiled"),
        (1, 0, "0, the plain loop"),
        (2, -1, "computed before all loops"),
    ]


def test_a_tile_becomes_the_next_best_value_seen_and_then_none() -> None:
    found = alternatives(
        BEST,
        trial(3.0, candidate([64, 1, 1, 1], 2, 3)),
        trial(2.0, candidate([4, 2, 1, 8], 0, 3)),
        trial(None, candidate([1, 1, 4, 16], 2, 3)),
        trial(1.0, candidate([2, 2, 1, 16], 2, 3, sketch=[*SKETCH, ["Fuse", [], [], []]])),
    )
    assert found[0] == (0, [4, 2, 1, 8], "next best value in 2 trials")
    assert found[-1] == (0, [64, 1, 1, 1], "not tiled")
    assert len(found) == 4


def test_what_is_plain_already_becomes_the_most_common_other_value() -> None:
    plain = candidate([64, 1, 1, 1], 0, -1)
    trials = [trial(2.0, candidate([64, 1, 1, 1], unroll, 4)) for unroll in (3, 2, 3)]
    assert alternatives(plain, *trials) == [
        (1, 3, "most common other value, in 2 trials"),
        (2, 4, "most common other value, in 3 trials"),
    ]
    assert alternatives(plain) == [(1, 3, "the last choice; no other value was tried")]


factors = st.permutations([1, 2, 2, 16])


@given(
    tile=factors, unroll=st.integers(0, 3), location=st.integers(-2, 9), others=st.lists(factors)
)
def test_each_variant_differs_in_one_decision_and_has_the_same_iterations(
    tile: list[int], unroll: int, location: int, others: list[list[int]]
) -> None:
    best = candidate(tile, unroll, location)
    trials = [trial(1.0 + n, candidate(other, unroll, location)) for n, other in enumerate(others)]
    found = reversals(best, trials)
    assert len({each.candidate.digest for each in found} | {best.digest}) == len(found) + 1
    for each in found:
        changed = [n for n in range(3) if each.candidate.decisions[n] != best.decisions[n]]
        assert changed == [each.position]
        if isinstance(each.value, list):
            product = 1
            for factor in each.value:
                product *= factor
            assert product == 64
        assert each.candidate.proposed_by == "ablation"
        assert each.candidate.predicted is None
