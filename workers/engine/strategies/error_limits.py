"""Candidates whose builds keep to a limit on their error: mixed precision by layer."""

from collections.abc import Sequence
from math import inf, log

from workers.engine.space import plain
from workers.engine.strategies.base import Spaces
from workers.engine.trials import ERROR_LIMITS, LIMIT, Trial
from workers.engine.types import Candidate

#: Share of a limit that a build may use by its predicted error.
_USED = 0.92
#: Smallest share of a usual limit for which a plan tells about plans for other limits.
_NEAR = 0.65
#: Errors below are none.
_LEAST_ERROR = 1e-12
#: Time of a plan by its limit, as an exponent: for twice the limit, studies of four networks
#: predict 0.76 to 0.86 of the time from 0.5 to 1 %, and 0.51 to 0.88 from 1 to 2 % (ADR 63).
_STEEPNESS = 0.5


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
    and is faster than what is within the limit, a tighter one probably serves its users. It takes
    little time, since builds of all limits share a study.
    """
    tighter = []
    for usual in ERROR_LIMITS:
        made = [each for each in _limited(trials) if each[0] <= usual]
        beyond = [each for each in made if _error(each[1], 0.0) > usual]
        if not beyond:
            continue
        limit, tightest = min(beyond, key=lambda entry: (entry[0], entry[1].number))
        if _ratio(tightest) >= best_ratio_within(usual, trials):
            continue
        tried = max((each[0] for each in made if each[0] < limit), default=0.0)
        error = _error(tightest, 0.0)
        if below := [value for value in _limits(tightest, spaces) if tried < value < limit]:
            fitting = [value for value in below if error * value / limit <= _USED * usual]
            tighter.append(_with_limit(tightest, max(fitting or below[:1])))
    return tighter


def looser_candidates(trials: Sequence[Trial], spaces: Spaces) -> list[tuple[float, Candidate]]:
    """Candidates with a looser limit where a build stays well below a usual limit on the inputs of
    the check, and the gain of its users that is expected, as a logarithm above 0.

    The error is taken to be proportional to the limit; no limit is proposed beyond one whose build
    exceeded the usual limit.
    """
    looser = []
    for usual in ERROR_LIMITS:
        made = [each for each in _limited(trials) if each[1].ratio is not None]
        within = [each for each in made if _error(each[1], inf) <= usual <= each[0] / _NEAR]
        if not within:
            continue
        limit, loosest = max(within, key=lambda entry: (entry[0], -entry[1].number))
        beyond = min((each[0] for each in made if _error(each[1], 0.0) > usual), default=inf)
        most = limit * _USED * usual / max(_error(loosest, inf), _LEAST_ERROR)
        values = [v for v in _limits(loosest, spaces) if limit < v < beyond and v <= most]
        if not values:
            continue
        expected = _ratio(loosest) * (limit / max(values)) ** _STEEPNESS
        gain = log(best_ratio_within(usual, trials) / expected)
        if gain > 0:
            looser.append((gain, _with_limit(loosest, max(values))))
    return looser


def _limited(trials: Sequence[Trial]) -> list[tuple[float, Trial]]:
    """The limit of each trial that has one."""
    limits = ((limit_of(trial.candidate), trial) for trial in trials)
    return [(limit, trial) for limit, trial in limits if limit is not None]


def _limits(trial: Trial, spaces: Spaces) -> list[float]:
    """All limits of a trial's backend, in order; none if it gets no more trials."""
    space = spaces.get(trial.candidate.backend)
    values = () if space is None else plain(space.parameters[LIMIT]).values
    return sorted(map(float, values))


def _with_limit(trial: Trial, limit: float) -> Candidate:
    return Candidate(trial.candidate.backend, {**trial.candidate.options, LIMIT: limit})


def _ratio(trial: Trial) -> float:
    """The ratio of a trial; infinite without one."""
    return inf if trial.ratio is None else trial.ratio


def _error(trial: Trial, unknown: float) -> float:
    """The relative error of a trial's build; ``unknown`` if its outputs were not compared."""
    return unknown if trial.relative_error is None else trial.relative_error
