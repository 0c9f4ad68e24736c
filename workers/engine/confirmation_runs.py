"""Allocates the confirmation runs at the end of a search to the candidates.

::

    the best of each class      three processes, whatever they take
    candidates that may be      more processes: the least-sampled candidate first, clear winners
    the best of their class     last; until the interval is narrow enough, or after ten processes,
                                or when the time is up. A candidate that is slower than the best of
                                its class in every round of its first process is dropped, unless it
                                is considerably closer to the reference.
    the best of each class so   more processes while its interval is so wide that a considerable
    far                         gain may be none, for at most half of the budget in addition

Which candidate continues depends on what its ratio may still be; when it stops, on the width of its
interval. The ratio's value ends only the last step, and only far from 1: measuring until a build
happens to look faster would report gains that do not exist.
"""

from collections.abc import Sequence
from math import inf

from hpcfair.measurement.ratio import MARGIN
from hpcfair.precisions import Tolerance
from workers.engine.confirmation import FEWEST_PROCESSES, Confirmation, ConfirmedResult
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import PhaseTime, Progress
from workers.engine.requests import SearchBudget
from workers.engine.trials import Trial, is_closer
from workers.engine.types import BuildResult

#: Relative half-width above which an interval is too wide: a gain of a tenth would not be
#: published. Among three processes, one disturbed process widens it beyond any gain.
_WIDE = 0.05
#: Upper end of the interval below which its width does not matter: the build is faster anyway.
_CLEARLY_FASTER = 0.8
#: Share of the budget by which the last step may exceed it.
_OVERTIME = 0.5


def confirm_candidates(
    context: EvaluationContext,
    candidates: Sequence[tuple[Trial, BuildResult | None]],
    progress: Progress,
) -> list[ConfirmedResult]:
    """Results of the candidates that were neither dropped nor failed, within the request's budget.

    ``candidates`` are trials with their builds where the files still exist, the best of each class
    first. Raises InfrastructureFailed if the baseline does not run any more.
    """
    budget = context.request.budget
    every = [
        Confirmation(context, trial, build, budget.confirmation_half_width)
        for trial, build in candidates
    ]
    remaining = list(every)
    while True:
        # Not by the clock: the progress callback may wait until the machine is quiet.
        used_s = sum(each.seconds for each in every)
        if (chosen := _next(remaining, budget, budget.confirmation_seconds - used_s)) is None:
            break
        name = chosen.trial.candidate.name
        time = PhaseTime(used_s, budget.confirmation_seconds)
        progress("confirmation", chosen.processes, None, name, time)
        try:
            chosen.run_process()
        except (CandidateFailed, WrongOutput) as error:
            progress("confirmation", chosen.processes, None, f"{name} failed: {error}", time)
            remaining.remove(chosen)
        else:
            if chosen.processes == 1 and chosen.is_slower_than(_best_ratio(remaining, chosen)):
                _drop(context, remaining, chosen)
    for incomplete in [each for each in remaining if each.processes < _fewest(budget)]:
        _drop(context, remaining, incomplete)
    return [each.result() for each in remaining]


def _next(
    remaining: Sequence[Confirmation], budget: SearchBudget, left_s: float
) -> Confirmation | None:
    """The candidate of the next process; ``None`` if none needs one or the time is up."""
    first: dict[Tolerance, Confirmation] = {}
    for each in remaining:
        first.setdefault(each.trial.tolerance, each)
    due = [each for each in first.values() if each.processes < _fewest(budget)]
    if due:
        return min(due, key=_processes)
    # A candidate without a process is expected to take as long as the slowest of the others.
    longest_s = max((_seconds_per_process(each) for each in remaining), default=0.0)
    affordable = [e for e in remaining if (_seconds_per_process(e) or longest_s) <= left_s]
    useful = [each for each in affordable if _needs_more(each, remaining, budget)]
    if useful:
        # A clearly faster build is published in any case; the others need the time more.
        return min(useful, key=lambda each: (_is_clear(each, budget), each.processes))
    vague = [each for each in remaining if _is_vague(each, remaining, budget)]
    overtime_s = _OVERTIME * budget.confirmation_seconds
    return min(vague, key=_processes) if vague and left_s > -overtime_s else None


def _needs_more(
    candidate: Confirmation, remaining: Sequence[Confirmation], budget: SearchBudget
) -> bool:
    if candidate.processes < _fewest(budget):
        return True
    if candidate.processes >= budget.confirmation_processes or candidate.is_precise:
        return False
    return candidate.ratio.low < min(1 - MARGIN, _best_ratio(remaining, candidate))


def _is_vague(
    candidate: Confirmation, remaining: Sequence[Confirmation], budget: SearchBudget
) -> bool:
    """Whether the candidate is the best of its class so far and its interval is too wide."""
    if candidate.processes < _fewest(budget) or not _needs_more(candidate, remaining, budget):
        return False
    if candidate.ratio.value > _best_ratio(remaining, candidate):
        return False
    return candidate.ratio.half_width > _WIDE and not _is_clear(candidate, budget)


def _is_clear(candidate: Confirmation, budget: SearchBudget) -> bool:
    """Whether the candidate is faster whatever its interval may still become."""
    return candidate.processes >= _fewest(budget) and candidate.ratio.high <= _CLEARLY_FASTER


def _best_ratio(remaining: Sequence[Confirmation], excluded: Confirmation) -> float:
    """The best ratio of the others of the class that serve the same users."""
    trial = excluded.trial
    others = (
        each
        for each in remaining
        if each is not excluded
        and each.trial.tolerance == trial.tolerance
        and not is_closer(trial, each.trial)
    )
    return min((other.ratio.value for other in others if other.processes), default=inf)


def _drop(context: EvaluationContext, remaining: list[Confirmation], dropped: Confirmation) -> None:
    remaining.remove(dropped)
    if dropped.build is not None:
        context.device.discard(dropped.build)


def _fewest(budget: SearchBudget) -> int:
    return min(FEWEST_PROCESSES, budget.confirmation_processes)


def _processes(candidate: Confirmation) -> int:
    return candidate.processes


def _seconds_per_process(candidate: Confirmation) -> float:
    return candidate.seconds / max(candidate.processes, 1)
