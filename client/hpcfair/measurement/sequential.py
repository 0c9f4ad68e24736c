"""An interval of the ratio that stays valid while processes are added until a decision is reached.

An interval for a fixed number of samples errs more often than it says if it is looked at after each
of them. The confidence sequence here covers the ratio at all times at once with probability
``CONFIDENCE``, so that a measurement may end at the first one that decides.
"""

from collections.abc import Sequence
from math import exp, inf, log, sqrt

import numpy as np

from hpcfair.measurement.ratio import CONFIDENCE, Floats, ratio_interval, round_ratios
from hpcfair.measurement.types import Block, Interval

METHOD = (
    "geometric mean over processes of the median of per-round ratios of medians; anytime-valid "
    "confidence sequence for a mean of unknown variance (Gaussian mixture of effect sizes)"
)
#: Variance of the mixture of effect sizes: differences from a hypothesis are mostly many times the
#: spread of processes. Larger values narrow the interval of three processes, others hardly change.
_MIXTURE = 100.0
#: Fewest processes whose spread bounds the ratio.
FEWEST_UNITS = 3


def log_ratios(blocks: Sequence[Block]) -> Floats:
    """For each process the logarithm of the median of its rounds' ratios: ``[processes]``."""
    ratios = round_ratios(blocks)
    processes = np.array([block.process for block in blocks])
    return np.array([log(np.median(ratios[processes == each])) for each in np.unique(processes)])


def sequential_interval(blocks: Sequence[Block]) -> Interval:
    """The ratio over fresh processes with its confidence sequence.

    Rounds of one process share the placement of memory and threads, so that a process is one
    sample. With fewer than ``FEWEST_UNITS`` processes it is :func:`ratio_interval`, which is valid
    at one time only. There must be at least one round.
    """
    values = log_ratios(blocks)
    if len(values) < FEWEST_UNITS:
        return ratio_interval(blocks)
    mean, deviation = float(values.mean()), float(values.std(ddof=1))
    half = critical_t(len(values)) * deviation / sqrt(len(values))
    return Interval(exp(mean), exp(mean - half), exp(mean + half))


def critical_t(count: int) -> float:
    """Largest absolute value of Student's statistic of ``count`` samples, at least 2, that does not
    reject a mean at any time with probability ``CONFIDENCE``; infinite for two samples.

    The test martingale mixes the likelihood ratio of Student's statistic over effect sizes
    ``delta ~ Normal(0, g)`` with the right Haar prior on the scale: ``(1 + n g)**(-1/2) *
    ((1 + t**2 / v) / (1 + t**2 / (v (1 + n g))))**(n / 2)`` with ``v = n - 1``. By Ville's
    inequality it exceeds ``1 / alpha`` with probability ``alpha`` at most. Source: Wang & Ramdas,
    "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown variance",
    Sequential Analysis 2025 (arXiv 2310.03722); Lai, Annals of Statistics 1976. It is exact for
    normal logarithms and decisions that depend on Student's statistic; heavier tails make it wider
    than necessary.
    """
    spread, alpha = 1 + count * _MIXTURE, 1 - CONFIDENCE
    growth = (spread / alpha**2) ** (1 / count)
    if growth >= spread:
        return inf
    return sqrt((count - 1) * (growth - 1) / (1 - growth / spread))
