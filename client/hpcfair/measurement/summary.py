"""Parts of a record of schema ``hpcfair.bench/1``: latency statistics and raw samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hpcfair.measurement.types import Block

#: Fewest samples from which a tail percentile is given.
_FEWEST_FOR = {"p95_ns": 100, "p99_ns": 1000}


def latency_statistics(samples_ns: Sequence[int], samples_per_run: int = 1) -> dict[str, Any]:
    """Extremes, location, spread and percentiles of durations of runs, in nanoseconds.

    Needs at least one; ``p95_ns`` needs 100 of them, ``p99_ns`` 1000. ``samples_per_run`` is the
    number of samples that each run processed, for the throughput.
    """
    samples = np.asarray(samples_ns, np.float64)
    q1, p50, q3, p90, p95, p99 = np.quantile(samples, [0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
    figures = {
        "n": samples.size,
        "min_ns": min(samples_ns),
        "max_ns": max(samples_ns),
        "mean_ns": float(samples.mean()),
        "p50_ns": float(p50),
        "p90_ns": float(p90),
        "iqr_ns": float(q3 - q1),
        "mad_ns": float(np.median(np.abs(samples - p50))),
        "throughput_per_s": float(1e9 * samples_per_run / samples.mean()),
    }
    tails = {"p95_ns": float(p95), "p99_ns": float(p99)}
    return figures | {name: ns for name, ns in tails.items() if samples.size >= _FEWEST_FOR[name]}


def block_document(block: Block) -> dict[str, Any]:
    """A block's raw samples, as ``samples`` of schema ``hpcfair.bench/1`` lists them."""
    return {
        "process": block.process,
        "baseline_ns": list(block.baseline_ns),
        "candidate_ns": list(block.candidate_ns),
    }


def without_none(**fields: Any) -> dict[str, Any]:
    """The fields with a value: a record leaves an unknown one out, never as null or zero."""
    return {name: value for name, value in fields.items() if value is not None}
