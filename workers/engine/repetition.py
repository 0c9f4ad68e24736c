"""Repeats measurements whose baseline is off its level, in fresh processes."""

from collections.abc import Callable

from hpcfair.measurement.level import MOST_REPETITIONS
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.rounds import Rounds


def measure_on_level(
    context: EvaluationContext, rounds: Rounds, measure: Callable[[], bool]
) -> int | None:
    """Measure one pair of processes, again while its baseline is off the level of the context.

    After ``MOST_REPETITIONS`` the rounds of the last pair are set aside, as contended ones are.

    Args:
        measure: Appends the rounds of one pair of processes to ``rounds``; opens a new candidate
            each time. Returns whether the baseline ran long enough to be compared. The baseline's
            process is ended before a repetition.

    Returns:
        Index of the last pair in :attr:`EvaluationContext.level`; ``None`` if it was not compared.
    """
    first = len(rounds.blocks)
    for repetition in range(MOST_REPETITIONS + 1):
        if repetition:
            rounds.forget(first)
            context.close()
        if not measure():
            return None
        index = context.level.add(rounds.baseline_ns(first))
        if not context.level.is_off(index):
            return index
    rounds.set_aside(first, round(context.level.shift(index), 3))
    return index
