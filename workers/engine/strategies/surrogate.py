"""A Gaussian process over options, fitted to this search's own trials.

Its prior mean comes from other networks. It predicts the ratio of untried candidates and their
expected improvement (Mockus 1978; Jones, Schonlau & Welch 1998) over the best build of the
tolerance class, averaged over the classes that a candidate may belong to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import erf, exp, hypot, log, pi, sqrt

import numpy as np

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.contention import CONTENTION_ERROR
from workers.engine.strategies.features import Floats, cosines
from workers.engine.strategies.peers import rank_correlation, value_of
from workers.engine.trials import Trial

#: Prior standard deviation of the logarithm of ratios.
_AMPLITUDE = 0.5
#: Standard error of the logarithm of a ratio from one process, beside that of its interval:
#: processes of one build differ by as much.
_NOISE = 0.02
#: Additional standard error if contention disturbed most rounds.
_DISTURBED = CONTENTION_ERROR / 2
#: Half of a 95 % interval in standard errors.
_STANDARD_ERRORS = 1.96
#: Shares of the kernel: constant, additive over options, joint over options.
_COMMON, _ADDITIVE, _JOINT = 0.15, 0.45, 0.4
_LENGTH = 0.15
#: Own trials from which predictions are compared with measurements, and the rank correlation that
#: they need.
ENOUGH_PAIRS, LEAST_CORRELATION = 4, 0.2
#: Mean absolute error of logarithms up to which predictions hold whatever their order.
CLOSE = 0.1
#: Bounds on the cost of a trial, relative to the median cost.
_LOWEST_COST, _HIGHEST_COST = 0.5, 4.0


@dataclass(frozen=True, slots=True)
class Predictions:
    """Predictions for candidates, each ``[candidates]``.

    Attributes:
        mean: Mean of the logarithm of the ratio.
        gain: Expected improvement, as a logarithm, over the best build of the class.
        gain_per_cost: The gain divided by the cost, relative to the median trial.
    """

    mean: Floats
    gain: Floats
    gain_per_cost: Floats


def is_trustworthy(pairs: Sequence[tuple[float, float]]) -> bool:
    """Whether predictions agree with measurements; each pair is ``(predicted, measured)``.

    The guard against negative transfer: a history that orders this network's candidates wrongly is
    worse than none. If all predictions are accurate, the order is noise and does not count.
    """
    if len(pairs) < ENOUGH_PAIRS or rank_correlation(pairs) >= LEAST_CORRELATION:
        return True
    return float(np.mean([abs(predicted - measured) for predicted, measured in pairs])) <= CLOSE


def predict(
    trials: Sequence[tuple[Trial, Floats, float]],
    candidates: tuple[Floats, Floats],
    shares: Floats,
    to_beat: Mapping[Tolerance, float],
    error: float | None,
) -> Predictions:
    """Predictions from the prior and the search's own trials.

    Args:
        trials: Own trials with features and prior mean.
        candidates: Features ``[candidates, columns]`` and prior means ``[candidates]``.
        shares: Probability of each tolerance class, ``[candidates, classes]``.
        to_beat: Ratio to beat per class.
        error: Standard error of the prior mean; ``None`` without a prior.
    """
    features, prior = candidates
    trial_features = np.array([row for _, row, _ in trials]).reshape(len(trials), features.shape[1])
    measured = np.array([value_of(trial.ratio) for trial, _, _ in trials])
    before = np.array([mean for _, _, mean in trials])
    residual = measured - before
    amplitude = _amplitude(residual, error)
    noise = np.array([_noise(trial) for trial, _, _ in trials])
    own = amplitude**2 * _kernel(trial_features, trial_features) + np.diag(noise**2)
    across = amplitude**2 * _kernel(features, trial_features)
    solved = np.linalg.solve(own, np.column_stack([residual, across.T])) if len(trials) else None
    mean, variance = prior.copy(), np.full(len(prior), amplitude**2)
    if solved is not None:
        mean += across @ solved[:, 0]
        variance -= np.einsum("ij,ji->i", across, solved[:, 1:])
    deviation = np.sqrt(np.maximum(variance, 1e-6))
    gain = np.zeros(len(prior))
    for at, tolerance in enumerate(TOLERANCES):
        gain += shares[:, at] * _improvement(mean, deviation, log(to_beat[tolerance]))
    return Predictions(mean, gain, gain / _costs(trials, trial_features, features))


def _noise(trial: Trial) -> float:
    """Standard error of the logarithm of a trial's ratio."""
    measurement = trial.measurement
    if measurement is None:
        return _NOISE
    standard_error = measurement.ratio.half_width / _STANDARD_ERRORS
    return hypot(
        _NOISE, standard_error, _DISTURBED if measurement.quality.get("disturbed") else 0.0
    )


def _kernel(one: Floats, other: Floats) -> Floats:
    similarity = (
        cosines(one, other) if len(one) and len(other) else np.zeros((len(one), len(other)))
    )
    return _COMMON + _ADDITIVE * similarity + _JOINT * np.exp((similarity - 1) / _LENGTH)


def _amplitude(residual: Floats, error: float | None) -> float:
    """Standard deviation, from the prior one to that of the residuals of own trials."""
    expected = _AMPLITUDE if error is None else error
    weight = 4.0
    return sqrt((weight * expected**2 + float((residual**2).sum())) / (weight + len(residual)))


def _improvement(mean: Floats, deviation: Floats, to_beat: float) -> Floats:
    """Expected improvement below ``to_beat`` of normal distributions."""
    z = (to_beat - mean) / deviation
    density = np.exp(-(z**2) / 2) / sqrt(2 * pi)
    below = np.array([(1 + erf(each / sqrt(2))) / 2 for each in z])
    return np.asarray(np.maximum(0.0, (to_beat - mean) * below + deviation * density), np.float64)


def _costs(
    trials: Sequence[tuple[Trial, Floats, float]], trial_features: Floats, features: Floats
) -> Floats:
    """Expected duration of each candidate's trial over the median one, by kernel regression."""
    if not trials:
        return np.ones(len(features))
    seconds = np.log([max(trial.duration_s, 1e-3) for trial, _, _ in trials])
    weights = np.exp((cosines(features, trial_features) - 1) / _LENGTH) + 1e-9
    expected = np.exp(weights @ seconds / weights.sum(axis=1))
    typical = exp(float(np.median(seconds)))
    return np.asarray(np.clip(expected / typical, _LOWEST_COST, _HIGHEST_COST), np.float64)
