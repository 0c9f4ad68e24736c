"""From interleaved samples to a ratio, its interval and what may be said."""

from collections.abc import Collection, Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from workers.engine.types import Block, Interval, Verdict

METHOD = "median of per-round ratios of medians; hierarchical bootstrap, expanded percentile"
CONFIDENCE = 0.95
RESAMPLES = 2000

#: Below this many rounds not even the whole range of the ratios covers their median with 95 %:
#: it misses with probability 2 * 0.5**n (the sign test's bound), 0.03 for 6.
FEWEST_ROUNDS = 6

#: Two processes of one build differ by this much through nothing but where memory fell; smaller
#: differences are no gain to anybody.
MARGIN = 0.01

#: By how much company may bend a ratio where it disturbs most rounds, in all of them alike, so that
#: no interval shows it: a build with more threads loses more.
COMPANY = 0.2

Floats = npt.NDArray[np.float64]


def round_ratios(blocks: Sequence[Block]) -> Floats:
    """Per ABBA round, median of the candidate's runs over median of the baseline's: ``[rounds]``.

    Whatever slows the machine for longer than a round slows both sides and cancels (duet
    benchmarking: Bulej et al., ICPE 2020, arXiv 2001.05811).
    """
    return np.array([np.median(b.candidate_ns) / np.median(b.baseline_ns) for b in blocks])


def ratio_interval(blocks: Sequence[Block], seed: int = 0) -> Interval:
    """The median of the per-round ratios with its 95 % confidence interval.

    Rounds of one process share where memory fell and how threads were placed, so processes are
    resampled first and rounds within them second (hierarchical bootstrap: Kalibera & Jones,
    "Rigorous benchmarking in reasonable time", ISMM 2013). The interval is the percentile one,
    expanded for few processes (:func:`_tail`). BCa would not do: its acceleration comes from a
    jackknife, which is not consistent for a median.
    """
    ratios = round_ratios(blocks)
    processes = np.array([block.process for block in blocks])
    groups = [np.flatnonzero(processes == process) for process in np.unique(processes)]
    sizes = np.array([len(group) for group in groups])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    ordered = ratios[np.concatenate(groups)]

    rng = np.random.default_rng(seed)
    per_process = -(-len(ratios) // len(groups))
    chosen = rng.integers(0, len(groups), (RESAMPLES, len(groups), 1))
    within = rng.random((RESAMPLES, len(groups), per_process))
    drawn = ordered[starts[chosen] + (within * sizes[chosen]).astype(np.intp)]
    medians = np.median(drawn.reshape(RESAMPLES, -1), axis=1)
    tail = _tail(len(groups) if len(groups) > 1 else len(ratios))
    low, high = np.quantile(medians, [tail, 1 - tail])
    return Interval(float(np.median(ratios)), float(low), float(high))


def _tail(units: int) -> float:
    """Share of the bootstrap distribution to cut off at each end.

    The plain percentile interval is too narrow for few independent units, as a normal interval
    would be without Student's correction; the expanded one cuts ``Phi(-sqrt(n / (n - 1)) * t)``
    with the t quantile of ``n - 1`` degrees of freedom instead of 0.025 (Hesterberg, "What
    teachers should know about the bootstrap", 2015, section 4.1.2). A single unit says nothing
    about the spread: nothing is cut off.
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


def half_width(ratio: Interval) -> float:
    """Half the interval's width, relative to the ratio."""
    return (ratio.high - ratio.low) / 2 / ratio.value


def verdict(ratio: Interval, rounds: int, wanted: float) -> Verdict:
    """What the interval allows to say.

    Args:
        wanted: Relative half-width at which an interval around 1 means "same".
    """
    if rounds < FEWEST_ROUNDS:
        return "unstable"
    if ratio.high < 1 - MARGIN:
        return "faster"
    if ratio.low > 1 + MARGIN:
        return "slower"
    return "same" if half_width(ratio) <= max(wanted, MARGIN) else "unstable"


def undisturbed(blocks: Sequence[Block], contended: Collection[int]) -> int:
    """How many rounds nothing else disturbed."""
    return sum(index not in contended for index in range(len(blocks)))


def without(blocks: Sequence[Block], contended: Collection[int]) -> Sequence[Block]:
    """The rounds that nothing else disturbed, or all if too few were left alone."""
    clean = [block for index, block in enumerate(blocks) if index not in contended]
    return clean if len(clean) >= FEWEST_ROUNDS else blocks


def disturbed(blocks: Sequence[Block], contended: Collection[int]) -> bool:
    """Whether others left so few rounds alone that the ratio is over all of them."""
    return bool(contended) and undisturbed(blocks, contended) < FEWEST_ROUNDS


def company_explains(ratio: Interval) -> bool:
    """Whether a disturbed ratio says no more than that there was company."""
    return ratio.high >= 1 - COMPANY and ratio.low <= 1 + COMPANY
