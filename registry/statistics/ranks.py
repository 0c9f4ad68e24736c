"""How well predictions rank what was measured."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def spearman(one: Numbers, other: Numbers) -> float | None:
    """Spearman's rank correlation, with mean ranks for ties; ``None`` if it is not defined: fewer
    than three pairs, or only one value on a side."""
    if len(one) < 3:
        return None
    first, second = mean_ranks(one), mean_ranks(other)
    first, second = first - first.mean(), second - second.mean()
    scale = float(np.sqrt((first @ first) * (second @ second)))
    return None if scale == 0 else float(np.clip(first @ second / scale, -1.0, 1.0))


def mean_ranks(values: Numbers) -> Numbers:
    """Rank of each value from 1, equal values having the mean of their ranks."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Numbers = (np.cumsum(count) - (count - 1) / 2)[place]
    return ranks


def top_k_recall(predicted: Numbers, measured: Numbers, k: int) -> float | None:
    """Share of the ``k`` smallest measured values among the ``k`` smallest predicted ones.

    A constant prediction finds ``k / n`` of them on average. ``None`` unless ``0 < k < n``, when
    nothing was chosen. Ties go to the earlier pair.
    """
    if not 0 < k < len(measured):
        return None
    chosen = set(np.argsort(predicted, kind="stable")[:k].tolist())
    best = np.argsort(measured, kind="stable")[:k].tolist()
    return sum(at in chosen for at in best) / k
