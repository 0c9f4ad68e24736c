"""From interleaved samples to a latency ratio, its confidence interval and a verdict."""

from collections.abc import Collection, Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from hpcfair.measurement.types import Block, Interval, Verdict

METHOD = "median of per-round ratios of medians; hierarchical bootstrap, expanded percentile"
CONFIDENCE = 0.95
_RESAMPLES = 2000

#: Fewer rounds give no verdict: even the whole range of the ratios then misses their median with
#: probability 2 * 0.5**n (the sign test's bound), which is 0.03 for 6.
FEWEST_ROUNDS = 6

#: Smallest relative difference that counts. Two processes of one build differ by as much through
#: the placement of their memory alone.
MARGIN = 0.01

Floats = npt.NDArray[np.float64]


def round_ratios(blocks: Sequence[Block]) -> Floats:
    """Per round, median of the candidate's runs over median of the baseline's: ``[rounds]``.

    A slowdown of the machine for longer than a round affects both sides and cancels (duet
    benchmarking: Bulej et al., ICPE 2020, arXiv 2001.05811).
    """
    return np.array([np.median(b.candidate_ns) / np.median(b.baseline_ns) for b in blocks])


def ratio_interval(blocks: Sequence[Block], seed: int = 0) -> Interval:
    """The median of the per-round ratios with its 95 % confidence interval.

    Rounds of one process share the placement of memory and threads, so processes are resampled
    first and rounds within them second (hierarchical bootstrap: Kalibera & Jones, "Rigorous
    benchmarking in reasonable time", ISMM 2013). The interval is the percentile one, expanded for
    few processes (:func:`_tail`). BCa is no alternative: its acceleration comes from a jackknife,
    which is not consistent for a median.

    There must be at least one round. Equal samples and equal seeds of the bootstrap give equal
    intervals.
    """
    ratios = round_ratios(blocks)
    processes = np.array([block.process for block in blocks])
    groups = [np.flatnonzero(processes == process) for process in np.unique(processes)]
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ordered = ratios[np.concatenate(groups)]

    rng = np.random.default_rng(seed)
    per_process = -(-len(ratios) // len(groups))
    chosen = rng.integers(0, len(groups), (_RESAMPLES, len(groups), 1))
    within = rng.random((_RESAMPLES, len(groups), per_process))
    drawn = ordered[starts[chosen] + (within * sizes[chosen]).astype(np.intp)]
    medians = np.median(drawn.reshape(_RESAMPLES, -1), axis=1)
    tail = _tail(len(groups) if len(groups) > 1 else len(ratios))
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(ratios)), float(low), float(high))


def verdict(ratio: Interval, rounds: int, half_width: float) -> Verdict:
    """The statement that an interval over ``rounds`` rounds supports. ``half_width`` is the
    relative half-width at which an interval around 1 means ``same``."""
    if rounds < FEWEST_ROUNDS:
        return "unstable"
    if ratio.high < 1 - MARGIN:
        return "faster"
    if ratio.low > 1 + MARGIN:
        return "slower"
    return "same" if ratio.half_width <= max(half_width, MARGIN) else "unstable"


def undisturbed_count(blocks: Sequence[Block], disturbed: Collection[int]) -> int:
    """Number of rounds without disturbance. ``disturbed`` holds indices into ``blocks``."""
    return sum(index not in disturbed for index in range(len(blocks)))


def undisturbed_blocks(blocks: Sequence[Block], disturbed: Collection[int]) -> Sequence[Block]:
    """The rounds without disturbance, or all of them if these are too few."""
    clean = [block for index, block in enumerate(blocks) if index not in disturbed]
    return clean if len(clean) >= FEWEST_ROUNDS else blocks


def is_disturbed(blocks: Sequence[Block], disturbed: Collection[int]) -> bool:
    """Whether so few rounds are without disturbance that the ratio is over all of them."""
    return bool(disturbed) and undisturbed_count(blocks, disturbed) < FEWEST_ROUNDS


def _tail(units: int) -> float:
    """Share of the bootstrap distribution to cut off at each end.

    The plain percentile interval is too narrow for few independent units, like a normal interval
    without Student's correction. The expanded one cuts ``Phi(-sqrt(n / (n - 1)) * t)`` with the t
    quantile of ``n - 1`` degrees of freedom instead of 0.025 (Hesterberg, "What teachers should
    know about the bootstrap", 2015, section 4.1.2). A single unit has no spread to estimate:
    nothing is cut off.
    """
    if units < 2:
        return 0.0
    return NormalDist().cdf(-sqrt(units / (units - 1)) * _student(units - 1))


def _student(freedom: int) -> float:
    """0.975 quantile of Student's t: exact for ``freedom`` 1 and 2, else within 1 % (Abramowitz &
    Stegun 26.7.5)."""
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
