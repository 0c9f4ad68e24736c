"""The end of a search: its finalists measured again, process by process, where it tells most.

::

    the best of each class     three processes, whatever they take
    whoever may be its         more processes, the fewest first and whoever is clearly faster last,
    class's best, and faster   until the interval is as narrow as it should be, or there are ten,
                               or time is up; who is slower than its class's best in every round
                               of its first process is given up
    who is its class's best    while the interval is so wide that a gain worth having may be none,
    now                        more, for half as long again at most

Which one goes on is decided by what may yet be true of it, when it stops by how wide its interval
is. Where it lies ends the last step alone, and only far from 1: measuring until chance makes a
build look faster would find gains that are none.
"""

from collections.abc import Sequence
from math import inf

from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.judge import FEWEST_PROCESSES, Again, Headline
from workers.engine.ports import Progress
from workers.engine.ratios import MARGIN, half_width
from workers.engine.rig import Rig
from workers.engine.types import Budget, BuildResult, Tolerance, Trial

#: With an interval of this relative half-width users go without a gain of a tenth. Among three
#: processes a single disturbed one makes it so wide that they go without any gain.
_TOO_WIDE = 0.05
#: Below this ratio a wide interval is no matter: whatever is true, the build is faster.
_CLEAR = 0.8
#: Beyond the budget, as a share of it, and no longer: somebody waits.
_OVERTIME = 0.5


def measured_again(
    rig: Rig, finalists: Sequence[tuple[Trial, BuildResult | None]], say: Progress
) -> list[Headline]:
    """Headlines of those that still work and were not given up, within the ticket's budget.

    Args:
        finalists: With their builds, where their files still exist; each class best first.

    Raises:
        RigFailed: the baseline does not run any more.
    """
    budget = rig.ticket.budget
    everyone = [Again(rig, trial, build, budget.headline_half_width) for trial, build in finalists]
    alive = list(everyone)
    while True:
        # Not by the clock: whoever is told of progress may wait for a quiet machine.
        left_s = budget.headline_seconds - sum(again.seconds for again in everyone)
        if (chosen := _next(alive, budget, left_s)) is None:
            break
        name = chosen.trial.candidate.name
        say("headline", chosen.processes, None, name)
        try:
            chosen.process()
        except (CandidateFailed, WrongOutput) as error:
            say("headline", chosen.processes, None, f"{name} failed: {error}")
            alive.remove(chosen)
        else:
            if chosen.processes == 1 and chosen.slower_than(_best(alive, chosen)):
                _drop(rig, alive, chosen)
    for unfinished in [again for again in alive if again.processes < _least(budget)]:
        _drop(rig, alive, unfinished)
    return [again.headline() for again in alive]


def _next(alive: Sequence[Again], budget: Budget, left_s: float) -> Again | None:
    """Who has another process; ``None`` if nobody needs one or there is no time for it."""
    first: dict[Tolerance, Again] = {}
    for again in alive:
        first.setdefault(again.trial.tolerance, again)
    due = [again for again in first.values() if again.processes < _least(budget)]
    if due:
        return min(due, key=_processes)
    # One that has had none takes as long as the longest of the others.
    longest_s = max((_seconds(again) for again in alive), default=0.0)
    affordable = [again for again in alive if (_seconds(again) or longest_s) <= left_s]
    wanting = [again for again in affordable if _wants(again, alive, budget)]
    if wanting:
        # What is far from 1 is published whatever is true of it, so the others need time more.
        return min(wanting, key=lambda again: (_is_clear(again, budget), again.processes))
    vague = [again for again in alive if _is_vague(again, alive, budget)]
    return min(vague, key=_processes) if vague and left_s > -_allowance_s(budget) else None


def _is_vague(again: Again, alive: Sequence[Again], budget: Budget) -> bool:
    """Whether too little is known of what is its class's best so far."""
    if again.processes < _least(budget) or not _wants(again, alive, budget):
        return False
    if again.ratio.value > _best(alive, again):
        return False
    return half_width(again.ratio) > _TOO_WIDE and not _is_clear(again, budget)


def _is_clear(again: Again, budget: Budget) -> bool:
    """Whether a build is faster beyond all doubt, whatever its interval may still become."""
    return again.processes >= _least(budget) and again.ratio.high <= _CLEAR


def _allowance_s(budget: Budget) -> float:
    return _OVERTIME * budget.headline_seconds


def _wants(again: Again, alive: Sequence[Again], budget: Budget) -> bool:
    """Whether more processes could tell anything that matters of a build."""
    if again.processes < _least(budget):
        return True
    if again.processes >= budget.headline_processes or again.settled:
        return False
    return again.ratio.low < min(1 - MARGIN, _best(alive, again))


def _best(alive: Sequence[Again], but: Again) -> float:
    """The best ratio of the others of a build's class so far."""
    others = (a for a in alive if a is not but and a.trial.tolerance == but.trial.tolerance)
    return min((other.ratio.value for other in others if other.processes), default=inf)


def _drop(rig: Rig, alive: list[Again], useless: Again) -> None:
    alive.remove(useless)
    if useless.build is not None:
        rig.device.discard(useless.build)


def _least(budget: Budget) -> int:
    return min(FEWEST_PROCESSES, budget.headline_processes)


def _processes(again: Again) -> int:
    return again.processes


def _seconds(again: Again) -> float:
    """A process takes, as far as is known."""
    return again.seconds / max(again.processes, 1)
