"""Which values are more frequent among the fast ones: association, not cause.

The fastest share of all trials is compared with the rest. Evolutionary searches derive later trials
from fast ones, so a value may be frequent only because an early fast trial happened to have it.
An ablation is needed to show an effect.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, lgamma

import numpy as np
from numpy.typing import NDArray

#: q below which an association counts as evidence (VanderWeele and others use 0.05 to 0.1).
EVIDENCE = 0.1
#: Relative tolerance at which scipy and R call two tables equally likely in Fisher's test.
_TIE = 1 + 1e-7

Codes = NDArray[np.integer]
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Association:
    """A value of a column, among the fast trials and among the rest.

    Attributes:
        column, code: Position of the column, and the value's code in it.
        fast, fast_total: Fast trials with the value, and all that have the column.
        rest, rest_total: Likewise of the other trials.
        log2_odds: Base-2 logarithm of the odds ratio, with 0.5 added to each of the four counts.
        p: Fisher's exact test, two-sided.
        q: Benjamini-Hochberg's adjusted p over all values of all columns.
        median_s: Median time of the trials with the value, in the unit of the times.
    """

    column: int
    code: int
    fast: int
    fast_total: int
    rest: int
    rest_total: int
    log2_odds: float
    p: float
    q: float
    median_s: float

    @property
    def n(self) -> int:
        """Number of trials with the value."""
        return self.fast + self.rest

    @property
    def fast_share(self) -> float:
        """Share of the fast trials that have the value."""
        return self.fast / self.fast_total if self.fast_total else 0.0

    @property
    def rest_share(self) -> float:
        """Share of the other trials that have the value."""
        return self.rest / self.rest_total if self.rest_total else 0.0

    @property
    def is_evident(self) -> bool:
        """Whether q is below :data:`EVIDENCE`."""
        return self.q < EVIDENCE


def fastest(times: Numbers, share: float = 0.1) -> NDArray[np.bool_]:
    """Mask of the fastest ``share`` of the trials, at least one; ties go to the earlier trial."""
    mask = np.zeros(len(times), dtype=bool)
    if len(times):
        count = max(1, ceil(round(share * len(times), 9)))
        mask[np.argsort(times, kind="stable")[:count]] = True
    return mask


def associations(
    columns: Sequence[Codes], times: Numbers, is_fast: NDArray[np.bool_]
) -> list[Association]:
    """Associations of all values of all columns, in the order of columns and codes.

    Columns with a single value are left out, because they say nothing, and so are trials in which a
    column has no value.

    Args:
        columns: Of each column a code per trial, from 0; -1 where a trial has no value.
        times: Time of each trial.
        is_fast: Whether a trial counts as fast, see :func:`fastest`.

    Returns:
        Odds ratios with the correction of Haldane (1956) and Anscombe (1956), p of Fisher's exact
        test (1922), q of Benjamini and Hochberg (1995).
    """
    counted = [
        row for number, codes in enumerate(columns) for row in _counts(number, codes, is_fast)
    ]
    if not counted:
        return []
    table = np.array(counted, dtype=np.int64)
    fast, fast_total, rest, rest_total = table[:, 2:].T
    p = fisher_exact(fast, fast_total, rest, rest_total)
    q = false_discovery_rate(p)
    odds = log2_odds(fast, fast_total, rest, rest_total)
    medians = {number: _medians(columns[number], times) for number in {row[0] for row in counted}}
    return [
        Association(
            *row,
            float(odds[at]),
            float(p[at]),
            float(q[at]),
            medians[row[0]][row[1]],
        )
        for at, row in enumerate(counted)
    ]


def log2_odds(fast: Codes, fast_total: Codes, rest: Codes, rest_total: Codes) -> Numbers:
    """``log2`` of ``(a + 1/2)(d + 1/2) / ((b + 1/2)(c + 1/2))`` of each fourfold table."""
    with_value = (fast + 0.5) / (fast_total - fast + 0.5)
    result: Numbers = np.log2(with_value * (rest_total - rest + 0.5) / (rest + 0.5))
    return result


def fisher_exact(fast: Codes, fast_total: Codes, rest: Codes, rest_total: Codes) -> Numbers:
    """Two-sided p of Fisher's exact test of each fourfold table.

    The sum of the probabilities of all tables with the same margins that are no more likely than
    the observed one, as ``scipy.stats.fisher_exact``, which takes one table at a time.
    """
    result = np.ones(len(fast))
    margins = np.stack([fast + rest, fast_total, rest_total])
    for margin in np.unique(margins, axis=1).T:
        same = np.flatnonzero((margins == margin[:, None]).all(axis=0))
        drawn, successes, failures = (int(one) for one in margin)
        low, high = max(0, drawn - failures), min(drawn, successes)
        if low == high:
            continue
        chance = _hypergeometric(np.arange(low, high + 1), drawn, successes, failures)
        for at in same:
            observed = chance[int(fast[at]) - low]
            result[at] = min(1.0, float(chance[chance <= observed * _TIE].sum()))
    return result


def false_discovery_rate(p: Numbers) -> Numbers:
    """q of each p by Benjamini and Hochberg (1995): the least rate of false discoveries at which it
    counts. As ``scipy.stats.false_discovery_control``, whose package takes half a second to import
    in every process."""
    order = np.argsort(p)[::-1]
    steps = p[order] * len(p) / np.arange(len(p), 0, -1)
    q = np.empty(len(p), dtype=np.float64)
    q[order] = np.minimum(np.minimum.accumulate(steps), 1.0)
    return q


def _hypergeometric(hits: Codes, drawn: int, successes: int, failures: int) -> Numbers:
    """Probabilities of ``hits`` in a draw without replacement.

    By logarithms of factorials: ``scipy.stats.hypergeom`` takes 70 ms for 20,000 values, this 1 ms.
    """
    chance = np.exp(
        _log_choose(successes, hits)
        + _log_choose(failures, drawn - hits)
        - _log_choose(successes + failures, drawn)
    )
    return np.asarray(chance, dtype=np.float64)


def _log_choose(total: int, part: Codes | int) -> Numbers:
    """Logarithm of the number of subsets of ``part`` of ``total`` elements."""
    factorials = _log_factorials(1 << total.bit_length())
    log = factorials[total] - factorials[part] - factorials[np.subtract(total, part)]
    return np.asarray(log, dtype=np.float64)


@lru_cache(maxsize=8)
def _log_factorials(most: int) -> Numbers:
    """Logarithms of 0!, 1!, ... ``most``!. As ``scipy.special.gammaln``, whose package takes a
    fifth of a hub process's start to import."""
    return np.array([lgamma(number + 1) for number in range(most + 1)])


def _medians(codes: Codes, times: Numbers) -> dict[int, float]:
    """Median time of the trials with each code."""
    order = np.argsort(codes, kind="stable")
    values, starts = np.unique(codes[order], return_index=True)
    groups = np.split(times[order], starts[1:])
    medians = [float(np.median(group)) for group in groups]
    return dict(zip(map(int, values), medians, strict=True))


def _counts(
    number: int, codes: Codes, is_fast: NDArray[np.bool_]
) -> list[tuple[int, int, int, int, int, int]]:
    has_value = codes >= 0
    fast = np.bincount(codes[has_value & is_fast])
    rest = np.bincount(codes[has_value & ~is_fast])
    size = max(len(fast), len(rest))
    fast, rest = (np.pad(each, (0, size - len(each))) for each in (fast, rest))
    present = np.flatnonzero(fast + rest)
    if len(present) < 2:
        return []
    totals = int(fast.sum()), int(rest.sum())
    return [
        (number, int(code), int(fast[code]), totals[0], int(rest[code]), totals[1])
        for code in present
    ]
