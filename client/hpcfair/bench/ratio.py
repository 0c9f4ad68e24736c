"""From interleaved samples to a ratio, its interval and what may be said.

The hub's workers compute the same; a test holds the two together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

METHOD = "median of per-round ratios of medians; hierarchical bootstrap, expanded percentile"
CONFIDENCE = 0.95
_RESAMPLES = 2000
#: Below this many rounds the interval cannot cover with 95 % (sign test: 2 * 0.5**n).
_FEWEST_ROUNDS = 6
#: Smaller differences come from where memory fell and are no gain to anybody.
_MARGIN = 0.01

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Block:
    """One ABBA round of one process: nanoseconds of consecutive runs of both sides."""

    process: int
    baseline_ns: tuple[int, ...]
    candidate_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Interval:
    """A latency ratio with its 95 % confidence interval."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half the width, relative to the ratio."""
        return (self.high - self.low) / 2 / self.value

    def overlaps(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


def ratio_interval(blocks: Sequence[Block], seed: int = 0) -> Interval:
    """The median of the per-round ratios of medians, candidate over baseline.

    Whatever slows the machine for longer than a round slows both sides and cancels (duet
    benchmarking: Bulej et al., ICPE 2020, arXiv 2001.05811). Processes are resampled first and
    rounds within them second (hierarchical bootstrap: Kalibera & Jones, ISMM 2013); the interval
    is the percentile one, expanded for few processes (:func:`_tail`).
    """
    ratios = np.array([np.median(b.candidate_ns) / np.median(b.baseline_ns) for b in blocks])
    processes = np.array([block.process for block in blocks])
    groups = [np.flatnonzero(processes == process) for process in np.unique(processes)]
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ordered: Floats = ratios[np.concatenate(groups)]

    rng = np.random.default_rng(seed)
    per_process = -(-len(ratios) // len(groups))
    chosen = rng.integers(0, len(groups), (_RESAMPLES, len(groups), 1))
    within = rng.random((_RESAMPLES, len(groups), per_process))
    drawn = ordered[starts[chosen] + (within * sizes[chosen]).astype(np.intp)]
    medians = np.median(drawn.reshape(_RESAMPLES, -1), axis=1)
    tail = _tail(len(groups) if len(groups) > 1 else len(ratios))
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(ratios)), float(low), float(high))


def _tail(units: int) -> float:
    """Share of the bootstrap distribution to cut off at each end.

    ``Phi(-sqrt(n / (n - 1)) * t)`` with the t quantile of ``n - 1`` degrees of freedom, since the
    plain percentile interval is too narrow for few independent units (Hesterberg, "What teachers
    should know about the bootstrap", 2015, section 4.1.2). One unit says nothing of the spread.
    """
    if units < 2:
        return 0.0
    return NormalDist().cdf(-sqrt(units / (units - 1)) * _student(units - 1))


def _student(freedom: int) -> float:
    """The 0.975 quantile of Student's t distribution: exact for 1 and 2 degrees of freedom, else
    within 1 % (Abramowitz & Stegun 26.7.5)."""
    if freedom <= 2:
        return (12.7062, 4.3027)[freedom - 1]
    z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2)
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return float(sum(term / freedom**power for power, term in enumerate(terms)))


def verdict(ratio: Interval, rounds: int, wanted: float) -> str:
    """``faster``, ``slower``, ``same`` or ``unstable``: what the interval allows to say.

    Args:
        wanted: Relative half-width at which an interval around 1 means "same".
    """
    if rounds < _FEWEST_ROUNDS:
        return "unstable"
    if ratio.high < 1 - _MARGIN:
        return "faster"
    if ratio.low > 1 + _MARGIN:
        return "slower"
    return "same" if ratio.half_width <= max(wanted, _MARGIN) else "unstable"


def statistics(samples: Sequence[int]) -> dict[str, Any]:
    """A side's figures as the record's schema names them; percentiles only where there are enough
    samples to have them."""
    values = np.asarray(samples, np.float64)
    q1, p50, q3, p90, p95, p99 = np.quantile(values, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    figures = {
        "n": len(samples),
        "min_ns": float(values.min()),
        "max_ns": float(values.max()),
        "mean_ns": float(values.mean()),
        "p50_ns": float(p50),
        "p90_ns": float(p90),
        "iqr_ns": float(q3 - q1),
        "mad_ns": float(np.median(np.abs(values - p50))),
        "throughput_per_s": float(1e9 / values.mean()),
    }
    tails = {"p95_ns": (100, p95), "p99_ns": (1000, p99)}
    enough = {name: float(value) for name, (least, value) in tails.items() if len(samples) >= least}
    return figures | enough
