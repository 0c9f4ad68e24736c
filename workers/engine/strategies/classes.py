"""Which tolerance class a candidate will turn out to be of, guessed from those that are known."""

from collections.abc import Sequence

import numpy as np

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.strategies.features import Floats

#: As if every class had been seen this often with everything: what is new stays open.
_SMOOTHING = 0.05


def class_shares(known: Floats, classes: Sequence[Tolerance], features: Floats) -> Floats:
    """How likely each candidate is of each of ``TOLERANCES``: ``[candidates, classes]``.

    A build says its class, so beforehand it is guessed by naive Bayes over the options: whatever a
    backend calls its precision, the option that goes with the class decides.

    Args:
        known: Features of candidates whose class is known, ``[n, columns]``.
        classes: Theirs.
        features: Of those in question, ``[candidates, columns]``.
    """
    is_of = np.array([[each == tolerance for tolerance in TOLERANCES] for each in classes], float)
    is_of = is_of.reshape(len(classes), len(TOLERANCES))
    counts = is_of.sum(axis=0)
    seen = known.T @ is_of
    informative = (seen.sum(axis=1) > 0)[:, None]
    per_column = np.log((seen + _SMOOTHING) / (counts + 2 * _SMOOTHING))
    logs = np.log((counts + _SMOOTHING) / (counts.sum() + _SMOOTHING * len(TOLERANCES)))
    logs = logs + features @ np.where(informative, per_column, 0.0)
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True), np.float64)
