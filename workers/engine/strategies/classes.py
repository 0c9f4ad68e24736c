"""Predicts the tolerance class of a candidate from those of built candidates."""

from collections.abc import Sequence

import numpy as np

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.strategies.features import Floats

#: Pseudo-count of each class for each column: a column without data favours no class.
_SMOOTHING = 0.05


def class_shares(built_features: Floats, classes: Sequence[Tolerance], features: Floats) -> Floats:
    """Probability of each of ``TOLERANCES`` for each candidate: ``[candidates, classes]``.

    Only a build states its class; before, naive Bayes over the options predicts it. This needs no
    knowledge of the options' names: the option that correlates with the class decides.

    Args:
        built_features: Features of candidates of known class, ``[n, columns]``.
        classes: Their classes.
        features: Of the candidates to predict, ``[candidates, columns]``.
    """
    is_of = np.array([[each == tolerance for tolerance in TOLERANCES] for each in classes], float)
    is_of = is_of.reshape(len(classes), len(TOLERANCES))
    counts = is_of.sum(axis=0)
    occurrences = built_features.T @ is_of
    informative = (occurrences.sum(axis=1) > 0)[:, None]
    per_column = np.log((occurrences + _SMOOTHING) / (counts + 2 * _SMOOTHING))
    logs = np.log((counts + _SMOOTHING) / (counts.sum() + _SMOOTHING * len(TOLERANCES)))
    logs = logs + features @ np.where(informative, per_column, 0.0)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)
