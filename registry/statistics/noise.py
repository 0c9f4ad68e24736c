"""Whether two things measured with noise are equally fast."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from math import exp, log, sqrt

import numpy as np

#: Slower by at most this share is as good.
MARGIN = 0.05
#: Largest probability that an interval misses the ratio.
_ERROR = 0.05
#: Standard errors from the middle to the end of a 95 % interval.
_Z95 = 1.959964


class Likeness(StrEnum):
    """How something measured compares with the best.

    ``equal``: the interval of the ratio contains 1 and ends below the margin; ``undecided``: it
    contains 1 but is too wide to say more; ``slower``: it lies above 1; ``untested``: too few
    samples for an interval.
    """

    EQUAL = "equal"
    UNDECIDED = "undecided"
    SLOWER = "slower"
    UNTESTED = "untested"


@dataclass(frozen=True, slots=True)
class RatioInterval:
    """A ratio of times with its 95 % interval; ``level`` is the coverage that the samples allow."""

    ratio: float
    low: float
    high: float
    level: float = 0.95


def ratio_interval(times: Sequence[float], best: Sequence[float]) -> RatioInterval | None:
    """Ratio of ``times`` to those of the best: the estimator of Hodges and Lehmann (1963) on
    logarithms, with the interval of Mann and Whitney's test (Moses 1965).

    The interval assumes of the distributions only that one is the other scaled.
    ``None`` if so few samples allow no interval of 95 %: four on both sides are the fewest, or
    three beside five.
    """
    skipped = _skipped(len(times), len(best))
    if skipped is None:
        return None
    ratios = np.sort(np.subtract.outer(np.log(times), np.log(best)).ravel())
    low, high = ratios[skipped], ratios[len(ratios) - 1 - skipped]
    level = 1 - 2 * _tail(len(times), len(best), skipped)
    return RatioInterval(exp(float(np.median(ratios))), exp(float(low)), exp(float(high)), level)


def interval_ratio(one: RatioInterval, other: RatioInterval) -> RatioInterval:
    """Ratio of two independently measured ratios to a common baseline, from their intervals, with
    logarithms normally distributed."""
    middle = log(one.ratio / other.ratio)
    errors = [log(each.high / each.low) / (2 * _Z95) for each in (one, other)]
    reach = _Z95 * sqrt(sum(error**2 for error in errors))
    return RatioInterval(exp(middle), exp(middle - reach), exp(middle + reach))


def likeness(interval: RatioInterval | None, margin: float = MARGIN) -> Likeness:
    """The verdict that an interval of a ratio to the best allows."""
    if interval is None:
        return Likeness.UNTESTED
    if interval.low > 1:
        return Likeness.SLOWER
    return Likeness.EQUAL if interval.high <= 1 + margin else Likeness.UNDECIDED


def _skipped(one: int, other: int) -> int | None:
    """Number of ratios outside of the interval on either side."""
    if not one or not other or 2 * _tail(one, other, 0) > _ERROR:
        return None
    skipped = 0
    while 2 * _tail(one, other, skipped + 1) <= _ERROR:
        skipped += 1
    return skipped


@cache
def _tail(one: int, other: int, most: int) -> float:
    """Probability that Mann and Whitney's U of equal distributions is at most ``most``."""
    counts = _arrangements(one, other)
    return sum(counts[: most + 1]) / sum(counts)


@cache
def _arrangements(one: int, other: int) -> tuple[int, ...]:
    """Number of orders of ``one`` and ``other`` samples for each value of U from 0 (Mann and
    Whitney 1947): the coefficients of the Gaussian binomial."""
    counts = [1]
    for size in range(1, one + 1):
        # Times 1 - x^(other + size), divided by 1 - x^size.
        top = [*counts, *([0] * (other + size))]
        for at, count in enumerate(counts):
            top[at + other + size] -= count
        for at in range(size, len(top)):
            top[at] += top[at - size]
        counts = top[: size * other + 1]
    return tuple(counts)
