"""The order of the configurations that backends declare as promising, and of plans with a looser
limit on the error.

Backends take turns, each in its own order. What is calibrated for the network takes longest to
build and waits for what is not. Among the calibrated configurations, which are each backend's next
one and all for a limit on the error, comes first the one whose users may gain most by it:

1. of a tolerance class in which no build is faster than the baseline: the backend with the fastest
   build comes first, as kernels that are fast in one precision usually are in another;
2. by the logarithm of the expected gain over the fastest build of the same users: for a limit on
   the error, the fastest build of all, which such a build may approach; of a class, what quantised
   builds usually gain over the backend's builds of other classes; where a build stays below a
   limit, what a looser plan gains.

The seconds of a build are not compared: most of them are calibrations and studies, which builds
share, so that trials before say little about those after them.
"""

from collections.abc import Sequence, Set
from math import inf, log

from hpcfair.precisions import PRECISION_OF, TOLERANCE_OF, Tolerance
from workers.engine.strategies.base import Spaces
from workers.engine.strategies.error_limits import (
    best_ratio_within,
    limit_of,
    looser_candidates,
)
from workers.engine.trials import Trial
from workers.engine.types import Candidate

#: Gain, as a logarithm, that is expected of a further build of a class: what users notice.
_GAIN_OF_FURTHER = 0.05
#: The same of a backend's first quantised build, over its fastest build of other classes. The ten
#: examples gain 0.44 in int8 over bfloat16, twenty exported networks 0.07 (``served``, 2026-11-28).
_GAIN_OF_FIRST = 0.3
#: How an option marks int8 with ranges that are determined at run time.
_DYNAMIC = "dynamic"


def next_promising(spaces: Spaces, trials: Sequence[Trial], excluded: Set[str]) -> Candidate | None:
    """The promising configuration to try next, after ``trials`` of this search without the
    baseline's; ``None`` if all are ``excluded``, by ``sha256``."""
    ranked: list[tuple[tuple[float, ...], Candidate]] = []
    for name, space in spaces.items():
        listed = [Candidate(name, options) for options in space.promising]
        waiting = [each for each in listed if each.sha256 not in excluded]
        if waiting and not _is_calibrated(waiting[0]):
            ranked.append(((0, listed.index(waiting[0])), waiting[0]))
            continue
        of_backend = [trial for trial in trials if trial.candidate.backend == name]
        own = best_ratio_within(inf, of_backend)
        limited = [each for each in waiting if limit_of(each) is not None]
        unlimited = [each for each in waiting if limit_of(each) is None]
        gains = [(_possible_gain(c, of_backend, trials), c) for c in [*unlimited[:1], *limited]]
        gains += looser_candidates(trials, {name: space})
        ranked += [((1, -gain, own), c) for gain, c in gains if c.sha256 not in excluded]
    return min(ranked, key=lambda entry: entry[0])[1] if ranked else None


def _possible_gain(
    candidate: Candidate, of_backend: Sequence[Trial], trials: Sequence[Trial]
) -> float:
    """The gain, as a logarithm, that its users may expect of a calibrated candidate, by the trials
    of its backend and by all."""
    limit = limit_of(candidate)
    if limit is not None:
        return log(best_ratio_within(limit, trials) / best_ratio_within(inf, trials))
    tolerance = _tolerance_of(candidate)
    of_class = [t for t in trials if t.tolerance == tolerance and limit_of(t.candidate) is None]
    best = best_ratio_within(inf, of_class)
    if best == 1:
        return inf
    if any(trial in of_class for trial in of_backend):
        return _GAIN_OF_FURTHER
    others = [trial for trial in of_backend if trial.tolerance != tolerance]
    return max(log(best / best_ratio_within(inf, others)) + _GAIN_OF_FIRST, _GAIN_OF_FURTHER)


def _is_calibrated(candidate: Candidate) -> bool:
    """Whether a build runs the network on the calibration split, for its ranges or a study."""
    if limit_of(candidate) is not None:
        return True
    is_dynamic = str(candidate.options.get("precision")).endswith(_DYNAMIC)
    return PRECISION_OF[_tolerance_of(candidate)].is_quantised and not is_dynamic


def _tolerance_of(candidate: Candidate) -> Tolerance:
    """The class that the option ``precision`` implies, such as ``float16`` or ``int8-static``."""
    precision = str(candidate.options.get("precision"))
    return TOLERANCE_OF.get(precision.partition("-")[0], "exact")
