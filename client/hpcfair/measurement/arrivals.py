"""The scenario ``server``: samples arrive at random; their latency counts from their arrival."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hpcfair.measurement.timing import time_runs

#: Steps of the bisection: the rate is known to 1/64 of the capacity.
_STEPS = 6
#: Runs that show how long a sample takes.
_RUNS = 20


@dataclass(frozen=True, slots=True)
class ServedRate:
    """Latencies in nanoseconds, from arrival to return, at a mean rate of arrivals."""

    rate_per_s: float
    latencies_ns: tuple[int, ...]

    def percentile_ns(self, percentile: float) -> float:
        """A percentile of the latencies, from 0 to 100."""
        return float(np.percentile(self.latencies_ns, percentile))


def serve(run: Callable[[], object], rate_per_s: float, samples: int, seed: int) -> ServedRate:
    """Let samples arrive by a Poisson process and compute them one by one, in order of arrival.

    ``seed`` determines the times between arrivals.
    """
    gaps_s = np.random.default_rng(seed).exponential(1 / rate_per_s, samples)
    arrivals_ns = (np.cumsum(gaps_s) * 1e9).astype(np.int64).tolist()
    latencies: list[int] = []
    started = time.perf_counter_ns()
    for arrival in arrivals_ns:
        early_ns = arrival - (time.perf_counter_ns() - started)
        if early_ns > 0:
            time.sleep(early_ns / 1e9)
        run()
        latencies.append(time.perf_counter_ns() - started - arrival)
    return ServedRate(rate_per_s, tuple(latencies))


def largest_rate(
    run: Callable[[], object], bound_ns: int, *, percentile: float, samples: int, seed: int = 0
) -> list[ServedRate]:
    """Rates that were tried, in order: a bisection between 0 and one sample after the other.

    The largest rate at which the percentile keeps the bound is the answer, if there is one.
    """
    capacity = 1e9 / float(np.median(time_runs(run, _RUNS, _RUNS // 2).samples_ns))
    low, high = 0.0, capacity
    tried: list[ServedRate] = []
    for _ in range(_STEPS):
        served = serve(run, (low + high) / 2, samples, seed)
        tried.append(served)
        if served.percentile_ns(percentile) <= bound_ns:
            low = served.rate_per_s
        else:
            high = served.rate_per_s
    return tried


def best_rate(tried: list[ServedRate], bound_ns: int, percentile: float) -> ServedRate:
    """The largest rate that keeps the bound; the smallest one if none does."""
    keeping = [each for each in tried if each.percentile_ns(percentile) <= bound_ns]
    if keeping:
        return max(keeping, key=lambda each: each.rate_per_s)
    return min(tried, key=lambda each: each.rate_per_s)
