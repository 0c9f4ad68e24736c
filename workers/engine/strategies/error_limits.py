"""Candidates whose builds keep to a limit on their error: mixed precision by layer."""

from collections.abc import Sequence
from math import inf

from workers.engine.space import plain
from workers.engine.strategies.base import Spaces
from workers.engine.trials import ERROR_LIMITS, LIMIT, Trial
from workers.engine.types import Candidate


def limit_of(candidate: Candidate) -> float | None:
    """The relative error that builds of a candidate keep to, if it has one."""
    limit = candidate.options.get(LIMIT)
    return None if limit is None else float(limit)


def best_ratio_within(limit: float, trials: Sequence[Trial]) -> float:
    """The ratio of the fastest build whose relative error is at most ``limit``; at most 1, which is
    the baseline's. An infinite ``limit`` includes builds whose error was not measured."""
    ratios = [
        trial.ratio for trial in trials if trial.ratio is not None and _error(trial, inf) <= limit
    ]
    return min([1.0, *ratios])


def tighter_candidates(trials: Sequence[Trial], spaces: Spaces) -> list[Candidate]:
    """The next tighter candidates where users who state one of the usual limits have no build.

    A plan is made on other inputs than those of the check. If its build exceeds the limit there,
    and is faster than what is within the limit, the next tighter one probably serves its users. It
    takes little time, since builds of all limits share a study.
    """
    limited = [(limit_of(trial.candidate), trial) for trial in trials]
    tighter = []
    for usual in ERROR_LIMITS:
        made = [(limit, trial) for limit, trial in limited if limit is not None and limit <= usual]
        if not made:
            continue
        limit, tightest = min(made, key=lambda entry: (entry[0], entry[1].number))
        if tightest.ratio is None or tightest.ratio >= best_ratio_within(usual, trials):
            continue
        space = spaces.get(tightest.candidate.backend)
        if space is None or _error(tightest, 0.0) <= usual:
            continue
        values = [float(value) for value in plain(space.parameters[LIMIT]).values]
        if below := [value for value in values if value < limit]:
            options = {**tightest.candidate.options, LIMIT: max(below)}
            tighter.append(Candidate(tightest.candidate.backend, options))
    return tighter


def _error(trial: Trial, unknown: float) -> float:
    """The relative error of a trial's build; ``unknown`` if its outputs were not compared."""
    return unknown if trial.relative_error is None else trial.relative_error
