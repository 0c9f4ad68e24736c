"""Compares two schedules of a workload: built, then timed in turns, in alternating order."""

from collections.abc import Sequence
from dataclasses import dataclass

from hpcfair.measurement.ratio import ratio_interval, verdict
from hpcfair.measurement.types import Block, Interval, Verdict
from workers.engine.errors import InfrastructureFailed
from workers.engine.schedules.ports import ScheduleCompiler
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTask
from workers.engine.types import Outcome

#: Relative half-width of an interval around 1 that means equal times.
_HALF_WIDTH = 0.05
#: A difference whose interval comes closer to 1 than this factor is measured again, with new
#: builds. Among the two dozen comparisons of an ablation one in twenty would otherwise be wrong.
_CLEAR = 1.25
#: Schedules so slow that the rounds would take longer than this, in seconds, are timed only once.
_LONGEST_S = 20.0
_MOST_INFRASTRUCTURE_FAILURES = 3
_PICOSECONDS = 1e12


@dataclass(frozen=True, slots=True)
class ScheduleComparison:
    """A schedule beside the best one.

    Attributes:
        outcome: ``measured``, ``pruned`` (timed only once, because it is very slow), or a failure
            class with its ``detail``.
        seconds, best_seconds: Raw times of one call, a pair for each round; those of the best are
            empty if the schedule failed or was pruned.
        ratio: Time of the schedule over that of the best, with its 95 % confidence interval;
            ``None`` after a failure. The interval of a pruned one is a point.
        verdict: Conclusion about the schedule: ``slower`` than the best, ``faster``, ``same``, or
            ``unstable`` if the times support none of these.
    """

    outcome: Outcome
    detail: str = ""
    seconds: tuple[float, ...] = ()
    best_seconds: tuple[float, ...] = ()
    ratio: Interval | None = None
    verdict: Verdict = "unstable"
    duration_s: float = 0.0


def compare(
    compiler: ScheduleCompiler,
    task: ScheduleTask,
    best: ScheduleCandidate,
    other: ScheduleCandidate,
    *,
    best_s: float,
    rounds: int,
) -> ScheduleComparison:
    """Build a schedule and time it in turns with the best one, whose time is about ``best_s``.

    Raises:
        InfrastructureFailed: the machine failed several times in a row.
        CandidateFailed: the compiler itself failed.
    """
    for _ in range(_MOST_INFRASTRUCTURE_FAILURES):
        (outcome,) = compiler.measure(task, [other])
        if outcome.outcome != "infrastructure":
            break
    else:
        raise InfrastructureFailed(f"a schedule failed again and again: {outcome.detail}")
    median_s = outcome.median_s
    if median_s is None:
        return ScheduleComparison(outcome.outcome, outcome.detail, duration_s=outcome.duration_s)
    if rounds * median_s > _LONGEST_S:
        ratio = Interval(*[median_s / best_s] * 3)
        slow: Verdict = "slower" if ratio.value > 1 else "unstable"
        return ScheduleComparison(
            "pruned", "", outcome.seconds, (), ratio, slow, outcome.duration_s
        )
    return compare_built(compiler, task, best, other, rounds=rounds, duration_s=outcome.duration_s)


def compare_built(
    compiler: ScheduleCompiler,
    task: ScheduleTask,
    best: ScheduleCandidate,
    other: ScheduleCandidate,
    *,
    rounds: int,
    duration_s: float = 0.0,
) -> ScheduleComparison:
    """Time a schedule that can be built in turns with the best one.

    A difference that is not clear must be found a second time, with new builds; otherwise the
    verdict is ``unstable``. The ratio is over the rounds of both.
    """
    first = compiler.race(task, [best, other], rounds)
    if not all(first):
        return ScheduleComparison("crash", "died while it was timed", duration_s=duration_s)
    pairs = list(zip(*first, strict=True))
    ratio, conclusion = _concluded(pairs)
    if conclusion in {"faster", "slower"} and ratio.high > 1 / _CLEAR and ratio.low < _CLEAR:
        second = compiler.race(task, [best, other], rounds)
        if all(second):
            again = list(zip(*second, strict=True))
            _, repeated = _concluded(again)
            pairs += again
            ratio, _ = _concluded(pairs)
            conclusion = conclusion if repeated == conclusion else "unstable"
    best_seconds, seconds = zip(*pairs, strict=True)
    return ScheduleComparison("measured", "", seconds, best_seconds, ratio, conclusion, duration_s)


def _concluded(pairs: Sequence[tuple[float, float]]) -> tuple[Interval, Verdict]:
    """Ratio and verdict of pairs of times, the best schedule's first."""
    blocks = [
        Block(0, (max(1, round(best * _PICOSECONDS)),), (max(1, round(other * _PICOSECONDS)),))
        for best, other in pairs
    ]
    ratio = ratio_interval(blocks)
    return ratio, verdict(ratio, len(blocks), _HALF_WIDTH)
