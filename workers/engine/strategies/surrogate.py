"""A model of this search's own trials, small enough to be exact: a Gaussian process over options.

What other networks let expect is its mean, what was measured here corrects it, and what neither
speaks of stays uncertain. It says what is worth trying next: the expected improvement (Mockus 1978;
Jones, Schonlau & Welch 1998) over the best build of the class, each class weighed by how likely
the candidate is to be of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erf, exp, hypot, log, pi, sqrt

import numpy as np

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.contention import CONTENTION_ERROR
from workers.engine.strategies.features import Floats, cosines
from workers.engine.strategies.peers import rank_correlation, value_of
from workers.engine.types import Trial

#: Standard deviation of the logarithm of ratios, where nothing else is known.
_AMPLITUDE = 0.5
#: Of a ratio from one process, whatever its interval says: processes of one build differ by that.
_NOISE = 0.02
#: Besides, where others disturbed most rounds.
_DISTURBED = CONTENTION_ERROR / 2
#: Half of a 95 % interval in standard errors.
_STANDARD_ERRORS = 1.96
#: Shares of the kernel: what all have in common, each option by itself, options together.
_COMMON, _ADDITIVE, _JOINT = 0.15, 0.45, 0.4
_LENGTH = 0.15
#: Own trials from which on another's word is held against them, and the agreement it needs.
ENOUGH_PAIRS, TRUSTED = 4, 0.2
#: Mean error, as a logarithm, up to which it holds whatever the order.
CLOSE = 0.1
#: Cost of a trial counts within these bounds around the typical one.
_CHEAPEST, _DEAREST = 0.5, 4.0


@dataclass(frozen=True, slots=True)
class Outlook:
    """What is expected of candidates, all ``[candidates]``.

    Attributes:
        mean: Of the logarithm of the ratio.
        gain: Expected gain, as a logarithm, over the best build of the class.
        worth: The gain by the seconds it costs, in units of a typical trial.
    """

    mean: Floats
    gain: Floats
    worth: Floats


def trusted(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether predictions hold for what was measured: ``(predicted, measured)`` each.

    The guard against negative transfer: a history that orders this network's candidates wrongly is
    worse than none. Where all are as good as was said, their order is noise and proves nothing.
    """
    if len(pairs) < ENOUGH_PAIRS or rank_correlation(pairs) >= TRUSTED:
        return True
    return float(np.mean([abs(said - measured) for said, measured in pairs])) <= CLOSE


def outlook(
    trials: Sequence[tuple[Trial, Floats, float]],
    candidates: tuple[Floats, Floats],
    shares: Floats,
    bars: Mapping[Tolerance, float],
    error: float | None,
) -> Outlook:
    """What own trials and the prior say of candidates.

    Args:
        trials: Own trials with features and prior mean.
        candidates: Features ``[candidates, columns]`` and prior means ``[candidates]``.
        shares: Likelihood of each tolerance class, ``[candidates, classes]``.
        bars: Ratio to beat per class.
        error: Standard error of the prior; ``None`` where it knows nothing.
    """
    features, prior = candidates
    known = np.array([row for _, row, _ in trials]).reshape(len(trials), features.shape[1])
    measured = np.array([value_of(trial.ratio) for trial, _, _ in trials])
    before = np.array([mean for _, _, mean in trials])
    left = measured - before
    amplitude = _amplitude(left, error)
    noise = np.array([_noise(trial) for trial, _, _ in trials])
    own = amplitude**2 * _kernel(known, known) + np.diag(noise**2)
    across = amplitude**2 * _kernel(features, known)
    solved = np.linalg.solve(own, np.column_stack([left, across.T])) if len(trials) else None
    mean, variance = prior.copy(), np.full(len(prior), amplitude**2)
    if solved is not None:
        mean += across @ solved[:, 0]
        variance -= np.einsum("ij,ji->i", across, solved[:, 1:])
    deviation = np.sqrt(np.maximum(variance, 1e-6))
    gain = np.zeros(len(prior))
    for at, tolerance in enumerate(TOLERANCES):
        gain += shares[:, at] * _improvement(mean, deviation, log(bars[tolerance]))
    return Outlook(mean, gain, gain / _costs(trials, known, features))


def _noise(trial: Trial) -> float:
    """Standard error of the logarithm of a trial's ratio."""
    measured = trial.measurement
    if measured is None:
        return _NOISE
    told = measured.ratio.half_width / _STANDARD_ERRORS
    return hypot(_NOISE, told, _DISTURBED if measured.quality.get("disturbed") else 0.0)


def _kernel(one: Floats, other: Floats) -> Floats:
    alike = cosines(one, other) if len(one) and len(other) else np.zeros((len(one), len(other)))
    return _COMMON + _ADDITIVE * alike + _JOINT * np.exp((alike - 1) / _LENGTH)


def _amplitude(left: Floats, error: float | None) -> float:
    """From what was expected at first to what the own trials show."""
    expected = _AMPLITUDE if error is None else error
    weight = 4.0
    return sqrt((weight * expected**2 + float((left**2).sum())) / (weight + len(left)))


def _improvement(mean: Floats, deviation: Floats, bar: float) -> Floats:
    z = (bar - mean) / deviation
    density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
    below = np.array([(1 + erf(each / sqrt(2))) / 2 for each in z])
    return np.asarray(np.maximum(0.0, (bar - mean) * below + deviation * density), np.float64)


def _costs(
    trials: Sequence[tuple[Trial, Floats, float]], known: Floats, features: Floats
) -> Floats:
    """Seconds of each candidate's trial over the typical trial's, from those most like it."""
    if not trials:
        return np.ones(len(features))
    seconds = np.log([max(trial.duration_s, 1e-3) for trial, _, _ in trials])
    weights = np.exp((cosines(features, known) - 1) / _LENGTH) + 1e-9
    guessed = np.exp(weights @ seconds / weights.sum(axis=1))
    typical = exp(float(np.median(seconds)))
    return np.asarray(np.clip(guessed / typical, _CHEAPEST, _DEAREST), np.float64)
