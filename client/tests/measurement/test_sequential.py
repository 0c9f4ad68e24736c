"""The confidence sequence covers the ratio at all times at once, and narrows as processes come."""

from math import exp, inf, log

import numpy as np
import pytest

from hpcfair.measurement.ratio import ratio_interval
from hpcfair.measurement.sequential import critical_t, log_ratios, sequential_interval
from hpcfair.measurement.types import Block

PROCESSES = 25
SEARCHES = 4000


def blocks_of(*ratios: float) -> list[Block]:
    """Three rounds in a process for each ratio."""
    return [
        Block(process, (1_000_000,) * 3, (round(1e6 * ratio),) * 3)
        for process, ratio in enumerate(ratios)
        for _ in range(3)
    ]


def misses(noise: np.ndarray, critical: list[float]) -> float:
    """Share of searches in which some interval misses a true logarithm of 0.

    Args:
        noise: ``[searches, processes]``.
        critical: By number of processes.
    """
    missed = np.zeros(len(noise), np.bool_)
    for count in range(3, noise.shape[1] + 1):
        values = noise[:, :count]
        error = values.std(axis=1, ddof=1) / np.sqrt(count)
        missed |= np.abs(values.mean(axis=1)) > critical[count] * error
    return float(missed.mean())


@pytest.mark.parametrize("tails", ["normal", "heavy", "contaminated"])
def test_all_intervals_of_a_search_hold_together(tails: str) -> None:
    rng = np.random.default_rng(1)
    shape = (SEARCHES, PROCESSES)
    noise = {
        "normal": rng.normal(0, 0.02, shape),
        "heavy": 0.02 * rng.standard_t(3, shape),
        "contaminated": rng.normal(0, 0.02, shape)
        + rng.choice([0, 0.3, -0.3], shape, p=[0.9, 0.05, 0.05]),
    }[tails]
    sequential = [critical_t(count) if count > 1 else inf for count in range(PROCESSES + 1)]
    assert misses(noise, sequential) <= 0.05
    # Student's quantiles, 0.975 of 2 to 24 degrees of freedom: valid for one number of processes.
    fixed = [inf] * 3 + [4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16]
    fixed += [2.14, 2.13, 2.12, 2.11, 2.10, 2.09, 2.09, 2.08, 2.07, 2.07, 2.06]
    assert misses(noise, fixed) > 0.1


def test_the_interval_is_around_the_geometric_mean_and_narrows() -> None:
    rng = np.random.default_rng(0)
    ratios = [0.8 * exp(each) for each in rng.normal(0, 0.02, 12)]
    few, many = sequential_interval(blocks_of(*ratios[:4])), sequential_interval(blocks_of(*ratios))
    assert many.value == pytest.approx(exp(np.mean(np.log(ratios))), rel=1e-5)
    assert few.low < many.low < 0.8 < many.high < few.high < 1
    assert critical_t(2) == inf
    assert critical_t(3) > critical_t(4) > critical_t(12) > 3


def test_a_process_is_one_sample_however_many_rounds_it_has() -> None:
    made = blocks_of(0.8, 0.9)
    assert log_ratios(made) == pytest.approx([log(0.8), log(0.9)])
    assert sequential_interval(made) == ratio_interval(made)
