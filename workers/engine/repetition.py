"""Repeats measurements whose baseline is off its level, in fresh processes."""

from collections.abc import Callable

from hpcfair.measurement.level import MOST_REPETITIONS, BaselineLevel
from workers.engine.rounds import Rounds


def measure_on_level(
    level: BaselineLevel,
    rounds: Rounds,
    measure: Callable[[], bool],
    close_baseline: Callable[[], None],
) -> int | None:
    """Measure one pair of processes, again while its baseline is off its level.

    After ``MOST_REPETITIONS`` the rounds of the last pair are set aside, as contended ones are.

    Args:
        measure: Appends the rounds of one pair of processes to ``rounds``; opens a new candidate
            each time. Returns whether the baseline ran long enough to be compared.
        close_baseline: Ends the baseline's process; called before each repetition.

    Returns:
        Index of the last pair in ``level``; ``None`` if it was not compared.
    """
    first = len(rounds.blocks)
    for repetition in range(MOST_REPETITIONS + 1):
        if repetition:
            rounds.forget(first)
            close_baseline()
        if not measure():
            return None
        index = level.add(rounds.baseline_ns(first))
        if not level.is_off(index):
            return index
    rounds.set_aside(first, round(level.shift(index), 3))
    return index
