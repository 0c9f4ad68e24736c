"""A measurement with random arrivals is a valid record."""

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hpcfair.bench.server import measure_server
from hpcfair.loaded import Loaded
from hpcfair.measurement import arrivals
from hpcfair.measurement.arrivals import best_rate, serve
from hpcfair.record import Record
from registry import schemas
from tests.registry.shopfloor import EXAMPLE

_RUN_S = 0.0005


def test_the_largest_rate_that_keeps_a_bound_is_a_valid_record() -> None:
    runs: list[Any] = []

    def run(inputs: Any) -> None:
        runs.append(inputs)
        time.sleep(_RUN_S)

    model = SimpleNamespace(name="lab/x", record=Record(EXAMPLE["record_id"], EXAMPLE), run=run)
    document = measure_server(cast("Loaded", model), 10**9, samples=50)
    assert schemas.bench_problems(document) == {}
    load = document["protocol"]["load"]
    # Everything keeps a second, so the rate approaches the capacity.
    assert load["is_kept"]
    assert load["rate_per_s"] == max(each["rate_per_s"] for each in [load, *load["tried"]])
    assert document["statistics"]["candidate"]["n"] == 50
    assert {tuple(array.shape) for array in runs[0].values()}


class _VirtualTime:
    """A clock that stands still but for sleeps."""

    def __init__(self) -> None:
        self.now_ns = 10**9

    def perf_counter_ns(self) -> int:
        return self.now_ns

    def sleep(self, seconds: float) -> None:
        self.now_ns += round(seconds * 1e9)


def test_latency_counts_from_the_arrival(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = _VirtualTime()
    monkeypatch.setattr(arrivals, "time", clock)
    busy = serve(lambda: clock.sleep(0.002), 5000.0, 40, seed=0)
    # Arrivals are ten times as fast as the runs: the last one waits for all before it.
    assert busy.latencies_ns[-1] > 30 * 2e6
    calm = serve(lambda: clock.sleep(0.0001), 1000.0, 40, seed=0)
    assert min(calm.latencies_ns) == 100_000
    assert calm.percentile_ns(50) < 200_000
    assert best_rate([busy, calm], 5_000_000, 50) is calm
    assert best_rate([busy], 1, 50) is busy
