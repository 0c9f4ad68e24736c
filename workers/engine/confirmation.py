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

from hpcfair.measurement.ratio import MARGIN
from hpcfair.precisions import Tolerance
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation import FEWEST_PROCESSES, Confirmation, ConfirmedResult
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import Progress
from workers.engine.types import BuildResult, SearchBudget, Trial

#: With an interval of this relative half-width users go without a gain of a tenth. Among three
#: processes a single disturbed one makes it so wide that they go without any gain.
_TOO_WIDE = 0.05
#: Below this ratio a wide interval is no matter: whatever is true, the build is faster.
_CLEAR = 0.8
#: Beyond the budget, as a share of it, and no longer: somebody waits.
_OVERTIME = 0.5


def confirm_candidates(
    context: EvaluationContext,
    candidates_to_confirm: Sequence[tuple[Trial, BuildResult | None]],
    say: Progress,
) -> list[ConfirmedResult]:
    """Headlines of those that still work and were not given up, within the ticket's budget.

    Args:
        finalists: With their builds, where their files still exist; each class best first.

    Raises:
        InfrastructureFailed: the baseline does not run any more.
    """
    budget = context.request.budget
    everyone = [
        Confirmation(context, trial, build, budget.confirmation_half_width)
        for trial, build in candidates_to_confirm
    ]
    alive = list(everyone)
    while True:
        # Not by the clock: whoever is told of progress may wait for a quiet machine.
        left_s = budget.confirmation_seconds - sum(
            confirmation.seconds for confirmation in everyone
        )
        if (chosen := _next(alive, budget, left_s)) is None:
            break
        name = chosen.trial.candidate.name
        say("confirmation", chosen.processes, None, name)
        try:
            chosen.process()
        except (CandidateFailed, WrongOutput) as error:
            say("confirmation", chosen.processes, None, f"{name} failed: {error}")
            alive.remove(chosen)
        else:
            if chosen.processes == 1 and chosen.slower_than(_best(alive, chosen)):
                _drop(context, alive, chosen)
    for unfinished in [
        confirmation for confirmation in alive if confirmation.processes < _least(budget)
    ]:
        _drop(context, alive, unfinished)
    return [confirmation.result() for confirmation in alive]


def _next(
    alive: Sequence[Confirmation], budget: SearchBudget, left_s: float
) -> Confirmation | None:
    """Who has another process; ``None`` if nobody needs one or there is no time for it."""
    first: dict[Tolerance, Confirmation] = {}
    for confirmation in alive:
        first.setdefault(confirmation.trial.tolerance, confirmation)
    due = [
        confirmation for confirmation in first.values() if confirmation.processes < _least(budget)
    ]
    if due:
        return min(due, key=_processes)
    # One that has had none takes as long as the longest of the others.
    longest_s = max((_seconds(confirmation) for confirmation in alive), default=0.0)
    affordable = [
        confirmation for confirmation in alive if (_seconds(confirmation) or longest_s) <= left_s
    ]
    wanting = [confirmation for confirmation in affordable if _wants(confirmation, alive, budget)]
    if wanting:
        # What is far from 1 is published whatever is true of it, so the others need time more.
        return min(
            wanting,
            key=lambda confirmation: (_is_clear(confirmation, budget), confirmation.processes),
        )
    vague = [confirmation for confirmation in alive if _is_vague(confirmation, alive, budget)]
    return min(vague, key=_processes) if vague and left_s > -_allowance_s(budget) else None


def _is_vague(
    confirmation: Confirmation, alive: Sequence[Confirmation], budget: SearchBudget
) -> bool:
    """Whether too little is known of what is its class's best so far."""
    if confirmation.processes < _least(budget) or not _wants(confirmation, alive, budget):
        return False
    if confirmation.ratio.value > _best(alive, confirmation):
        return False
    return confirmation.ratio.half_width > _TOO_WIDE and not _is_clear(confirmation, budget)


def _is_clear(confirmation: Confirmation, budget: SearchBudget) -> bool:
    """Whether a build is faster beyond all doubt, whatever its interval may still become."""
    return confirmation.processes >= _least(budget) and confirmation.ratio.high <= _CLEAR


def _allowance_s(budget: SearchBudget) -> float:
    return _OVERTIME * budget.confirmation_seconds


def _wants(confirmation: Confirmation, alive: Sequence[Confirmation], budget: SearchBudget) -> bool:
    """Whether more processes could tell anything that matters of a build."""
    if confirmation.processes < _least(budget):
        return True
    if confirmation.processes >= budget.confirmation_processes or confirmation.settled:
        return False
    return confirmation.ratio.low < min(1 - MARGIN, _best(alive, confirmation))


def _best(alive: Sequence[Confirmation], but: Confirmation) -> float:
    """The best ratio of the others of a build's class so far."""
    others = (a for a in alive if a is not but and a.trial.tolerance == but.trial.tolerance)
    return min((other.ratio.value for other in others if other.processes), default=inf)


def _drop(context: EvaluationContext, alive: list[Confirmation], useless: Confirmation) -> None:
    alive.remove(useless)
    if useless.build is not None:
        context.device.discard(useless.build)


def _least(budget: SearchBudget) -> int:
    return min(FEWEST_PROCESSES, budget.confirmation_processes)


def _processes(confirmation: Confirmation) -> int:
    return confirmation.processes


def _seconds(confirmation: Confirmation) -> float:
    """A process takes, as far as is known."""
    return confirmation.seconds / max(confirmation.processes, 1)
