"""Which batches of a build are timed."""

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import pytest

from hpcfair.measurement.types import Timing
from hpcfair.scenarios import MULTI_STREAM, OFFLINE
from workers.engine.queries.rows import QueryRows
from workers.engine.queries.sweep import BatchSweep, ThroughputPoint
from workers.engine.types import SampleQuery
from workers.testing.simulation import VirtualClock

#: Samples per second by batch.
Speed = Callable[[int], float]


class _Session:
    def __init__(self, clock: VirtualClock, speed: Speed) -> None:
        self._clock, self._speed = clock, speed
        self._query = SampleQuery(1)
        self.shortest_s, self.timed_s = 1.0, 0.0
        self.samples: set[int] = set()

    def query(self, query: SampleQuery) -> None:
        self._query = query

    def time(self, runs: int, warmup: int) -> Timing:
        run_s = self._query.samples / self._speed(self._query.batch)
        self.shortest_s = min(self.shortest_s, run_s)
        self.timed_s += run_s * runs
        self.samples.add(self._query.samples)
        self._clock.sleep(run_s * (runs + warmup))
        return Timing((round(1e9 * run_s),) * runs)


def _swept(baseline: Speed, candidate: Speed, deadline: float = 1e9) -> list[ThroughputPoint]:
    clock = VirtualClock()
    sweep = BatchSweep(clock, OFFLINE, 64, 32_768, 1e-4, by_row=True)
    session: Any = _Session(clock, baseline)
    points = sweep.of_baseline(session, inf)
    assert [each.batch for each in points][:7] == [1, 2, 4, 8, 16, 32, 64]
    session = _Session(clock, candidate)
    return sweep.of_candidate(session, 2, points, deadline)


def test_small_batches_of_a_small_network_rule_out_nothing() -> None:
    """Where most of a run is the call, the baseline's best batch is 64 times as fast as one."""
    points = _swept(lambda batch: 1e4 * batch, lambda batch: 2e4 * batch)
    assert [each.batch for each in points] == [1, 8, 32, 64]
    assert points[-1].throughput_per_s == pytest.approx(128e4)


def test_a_build_that_is_far_slower_with_each_batch_is_given_up() -> None:
    points = _swept(lambda batch: 1e4 * batch, lambda batch: 5e3 * batch)
    assert [each.batch for each in points] == [1, 8]


def test_a_build_that_batches_well_is_not_given_up() -> None:
    points = _swept(lambda _: 1e4, lambda batch: 1e3 * batch)
    assert [each.batch for each in points] == [1, 8, 32, 64]


def test_the_sweep_ends_before_its_deadline() -> None:
    assert _swept(lambda _: 1e4, lambda _: 2e4, 0.0) == []
    clock = VirtualClock()
    session: Any = _Session(clock, lambda _: 10.0)
    sweep = BatchSweep(clock, OFFLINE, 64, 32_768, 0.1, by_row=True)
    points = sweep.of_baseline(session, 5.0)
    assert [each.batch for each in points][:5] == [1, 2, 4, 8, 1]
    assert clock.monotonic() <= 5.0
    sweep.of_candidate(session, 2, points, 8.0)
    assert clock.monotonic() <= 8.0


def test_batches_whose_gain_could_not_be_proved_are_left_out() -> None:
    clock = VirtualClock()
    session: Any = _Session(clock, lambda _: 10.0)
    sweep = BatchSweep(
        clock, OFFLINE, 64, 32_768, 0.1, by_row=True, is_affordable=lambda query_s: query_s < 0.5
    )
    assert {each.batch for each in sweep.of_baseline(session, inf)} == {1, 2, 4}


def test_queries_of_large_batches_last_long_enough() -> None:
    """A query that is sized by the time of single samples would end as soon as its streams have
    begun."""
    clock = VirtualClock()
    session: Any = _Session(clock, lambda batch: 1e4 * batch)
    sweep = BatchSweep(clock, OFFLINE, 64, 32_768, 1e-4, by_row=True)
    sweep.of_candidate(session, 2, sweep.of_baseline(session, inf), 1e9)
    # From one coarse batch to the next, throughput grows by 8 at most.
    assert session.shortest_s >= 0.05 / 8


def test_the_batches_of_a_query_fit_into_memory() -> None:
    small = QueryRows({"x": np.zeros((4, 8), np.float32)}, {}, by_row=True, is_open=True)
    large = QueryRows({"x": np.zeros((4, 2**18), np.float32)}, {}, by_row=True, is_open=True)
    assert small.largest_query == 32_768
    assert large.largest_query * 2**20 == 2**27
    whole = QueryRows(large.inputs, {}, by_row=False, is_open=False)
    assert whole.largest_query == 32_768


def test_a_network_of_one_row_is_the_rival_of_all_batches_of_its_builds() -> None:
    clock = VirtualClock()
    sweep = BatchSweep(clock, OFFLINE, 64, 32_768, 1e-4, by_row=True)
    baseline = sweep.of_baseline(_session(clock, lambda _: 1e4), inf, is_open=False)
    assert {each.batch for each in baseline} == {1}
    points = sweep.of_candidate(_session(clock, lambda b: 5e3 + 1e3 * b), 1, baseline, 1e9)
    assert [each.batch for each in points] == [1, 8, 32, 64]
    slow = sweep.of_candidate(_session(clock, lambda _: 5e3), 1, baseline, 1e9)
    assert [each.batch for each in slow] == [1, 8]
    fixed = sweep.of_candidate(_session(clock, lambda _: 2e4), 2, baseline, 1e9, is_open=False)
    assert {each.batch for each in fixed} == {1}


def _session(clock: VirtualClock, speed: Speed) -> Any:
    return _Session(clock, speed)


@pytest.mark.parametrize(
    ("streams", "best", "batches"),
    [
        (1, 8, [1, 8]),
        (1, 1, [1, 8, 2]),
        (2, 4, [1, 4]),
        (3, 4, [1, 4]),
        (6, 1, [1, 2, 2]),
        (16, 1, [1]),
    ],
)
def test_queries_of_a_fixed_size_occupy_most_streams(
    streams: int, best: int, batches: list[int]
) -> None:
    clock = VirtualClock()
    sweep = BatchSweep(clock, MULTI_STREAM, 64, 32_768, 1e-4, by_row=True)
    session: Any = _Session(clock, lambda _: 1e4)
    baseline = sweep.of_baseline(session, inf)
    assert {each.batch for each in baseline} == {1, 2, 4, 8}
    session = _Session(clock, lambda batch: 1e4 if batch == best else 9e3)
    points = sweep.of_candidate(session, streams, baseline, inf)
    assert [each.batch for each in points] == batches
    assert session.samples == {8}
    assert sweep.samples(4, 8, per_s=1e9) == 8
    # Two to four runs of 0.8 ms could not be told apart.
    assert session.timed_s / len(points) >= 0.05
