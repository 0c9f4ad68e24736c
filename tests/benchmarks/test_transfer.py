"""What the benchmark of schedules' memory makes of two searches."""

from benchmarks.transfer import incumbents, trials_to
from workers.engine.schedules.types import ScheduleCandidate, ScheduleOutcome, ScheduleTrial


def trial(number: int, *seconds: float) -> ScheduleTrial:
    candidate = ScheduleCandidate("task", [], [[0, number]], "random")
    return ScheduleTrial(
        number, candidate, ScheduleOutcome("measured" if seconds else "invalid", seconds, 1.0)
    )


def test_what_was_best_so_far_is_told_with_its_place() -> None:
    found = incumbents([trial(0), trial(1, 5.0), trial(2, 6.0), trial(3, 4.0), trial(4, 4.0)])
    assert [(place, each.number) for place, each in found] == [(2, 1), (4, 3)]
    assert incumbents([trial(0)]) == []


def test_trials_are_counted_until_what_was_best_is_truly_near_the_best_found_without() -> None:
    # At 7 the search without a memory only seemed to gain: timed again it lost.
    without = [(1, 9.0), (5, 1.04), (6, 1.0), (7, 1.2)]
    assert trials_to({"without": without, "with": [(1, 3.0), (2, 1.05)]}, 48) == {
        "without": 5,
        "with": 2,
    }
    assert trials_to({"without": without, "with": [(1, 1.06)]}, 48)["with"] == 49
