"""Allocates the confirmation runs at the end of a search to the candidates.

::

    the best of each class    three processes, whatever they take
    the others, and further   to the candidate whose outcome is worth the most: the expected gain to
    processes                 what users are served, for the time that the decision probably takes
    overtime                  up to the budget once more, where a considerable gain is still open

A candidate that is slower than the best of its class in every round of its first process is
dropped, unless it is considerably closer to the reference. A confirmation ends with its decision,
because its interval is valid at all times (:mod:`hpcfair.measurement.sequential`), or with the
time; what is still open then is measured on in a later job.
"""

from collections.abc import Sequence
from math import exp, inf, log, pi, sqrt
from statistics import NormalDist

from hpcfair.measurement.ratio import MARGIN
from hpcfair.measurement.sequential import critical_t
from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.confirmation import FEWEST_PROCESSES, Confirmation, ConfirmedResult
from workers.engine.errors import CandidateFailed, WrongOutput
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.ports import PhaseTime, Progress
from workers.engine.requests import SearchBudget
from workers.engine.trials import Trial, is_closer
from workers.engine.types import BuildResult

#: Gain that is worth overtime and a later job; half-width of an interval that is worth more
#: processes of a build that is served in any case.
CONSIDERABLE = 0.05
#: What a narrower interval of such a build is worth: less than any open gain.
_NARROWER = 1e-6
#: Share of the budget by which the confirmation of considerable gains may exceed it. A later job
#: takes longer: it begins with builds, references and checks again.
_OVERTIME = 1.0
#: Standard deviation of the logarithm of ratios among processes, before it is measured.
_USUAL_SPREAD = 0.05
#: Most processes that are considered when the time of a decision is estimated.
_MOST_PROCESSES = 100


def confirm_candidates(
    context: EvaluationContext,
    candidates: Sequence[tuple[Trial, BuildResult | None]],
    progress: Progress,
) -> tuple[list[ConfirmedResult], list[Trial]]:
    """Results of the candidates that were neither dropped nor failed, within the request's budget;
    and the trials of those that may be considerably faster, but for which there was no time.

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
    incomplete = [each for each in remaining if each.processes < _fewest(budget)]
    unconfirmed = [e.trial for e in incomplete if _gain(e, remaining, budget) > CONSIDERABLE]
    for each in incomplete:
        _drop(context, remaining, each)
    return [each.result() for each in remaining], unconfirmed


def expected_gain(candidate: Confirmation, served: float) -> float:
    """Expected relative reduction of the ratio ``served`` by a confirmation, if it succeeds.

    The expected improvement under a normal distribution of the logarithm (Jones et al., "Efficient
    global optimization", 1998): positive for a slower candidate, too, while little is known.
    """
    if candidate.processes:
        value = candidate.ratio.value
        spread = candidate.spread if candidate.processes > 1 else _USUAL_SPREAD
        error = max(spread, MARGIN) / sqrt(candidate.processes)
    else:
        # The best of several noisy trials: its own interval is too narrow.
        value, error = candidate.trial.ratio or served, _USUAL_SPREAD
    gain = log(served) - log(value)
    scaled = gain / error
    density = exp(-(scaled**2) / 2) / sqrt(2 * pi)
    return gain * NormalDist().cdf(scaled) + error * density


def processes_to_decide(candidate: Confirmation) -> int:
    """Further processes after which the candidate is probably proved faster than the baseline, or
    certainly hardly faster."""
    if candidate.processes < FEWEST_PROCESSES:
        return FEWEST_PROCESSES - candidate.processes
    distance = max(abs(log(1 - MARGIN) - log(candidate.ratio.value)), MARGIN)
    for count in range(candidate.processes + 1, _MOST_PROCESSES):
        if critical_t(count) * candidate.spread / sqrt(count) <= distance:
            return count - candidate.processes
    return _MOST_PROCESSES


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
    seconds = {id(each): _seconds_per_process(each) or longest_s for each in remaining}
    worth: list[tuple[float, int, Confirmation]] = []
    for at, each in enumerate(remaining):
        gain = _gain(each, remaining, budget)
        allowed_s = left_s + (_OVERTIME * budget.confirmation_seconds if gain > CONSIDERABLE else 0)
        if gain > 0 and seconds[id(each)] <= allowed_s:
            duration_s = processes_to_decide(each) * seconds[id(each)]
            worth.append((gain / max(duration_s, 1e-9), -at, each))
    return max(worth)[2] if worth else None


def _gain(
    candidate: Confirmation, remaining: Sequence[Confirmation], budget: SearchBudget
) -> float:
    """What another process of a candidate is worth; 0 if its outcome is decided."""
    if candidate.processes >= budget.confirmation_processes:
        return 0.0
    served = _served_ratio(remaining, candidate)
    if candidate.is_proved and candidate.ratio.value <= served:
        return _NARROWER if candidate.ratio.half_width > CONSIDERABLE else 0.0
    if candidate.processes >= _fewest(budget) and candidate.ratio.low >= served * (1 - MARGIN):
        return 0.0
    gain = expected_gain(candidate, served)
    return gain if gain >= MARGIN / 2 else 0.0


def _served_ratio(remaining: Sequence[Confirmation], excluded: Confirmation) -> float:
    """The ratio of what users of a candidate's class are served without it."""
    trial = excluded.trial
    return min(
        (
            each.ratio.value
            for each in remaining
            if each is not excluded
            and each.is_proved
            and TOLERANCES.index(each.trial.tolerance) <= TOLERANCES.index(trial.tolerance)
            and not is_closer(excluded.relative_error, each.relative_error)
        ),
        default=1.0,
    )


def _best_ratio(remaining: Sequence[Confirmation], excluded: Confirmation) -> float:
    """The best ratio of the others of the class that serve the same users."""
    trial = excluded.trial
    others = (
        each
        for each in remaining
        if each is not excluded
        and each.trial.tolerance == trial.tolerance
        and not is_closer(excluded.relative_error, each.relative_error)
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
