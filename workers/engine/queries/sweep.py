"""Measures the throughput of a build over batches and streams, few runs each."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from math import ceil, lcm
from typing import Any

import numpy as np

from hpcfair.measurement.types import Side
from hpcfair.scenarios import BATCHES, MULTI_STREAM, MULTI_STREAM_SAMPLES, Scenario
from workers.engine.clock import Clock
from workers.engine.queries.ports import QuerySession
from workers.engine.types import SampleQuery

#: Least duration of what is timed, a query or several short ones: neither a timer tick must decide
#: it, nor the time in which streams begin and end.
_LEAST_S = 0.05
#: Runs of a point, the first of them untimed.
_FIRST_RUNS = 2
#: Runs of a point after these, as long as they take no more than this.
_MORE_RUNS, _MORE_S = 2, 0.5
#: Most runs of a short query.
_MOST_RUNS = 200
#: Batches that are measured at first. The best one's neighbour follows. OpenVINO compiles a network
#: for the first four shapes.
_COARSE = (1, 8, 32)
#: Those of a network that takes one sample.
_SINGLE = (1,)
#: Share of the baseline's throughput with the same batches below which a build is given up after
#: its first two.
_HOPELESS = 0.6
#: The smallest batch within this share of the best throughput is used: it returns sooner.
_EQUAL = 0.98
#: The baseline's batches within this share of its best are measured again.
_CLOSE = 0.9


@dataclass(frozen=True, slots=True)
class ThroughputPoint:
    """Throughput of a side with a batch and a number of streams."""

    side: Side
    batch: int
    streams: int
    throughput_per_s: float

    def as_dict(self) -> dict[str, Any]:
        """As an entry of ``protocol.sweep`` of ``hpcfair.bench/1``."""
        return asdict(self)


def samples_of_query(scenario: Scenario) -> int | None:
    """Samples of a query; ``None`` if it has as many as last long enough to be timed."""
    return MULTI_STREAM_SAMPLES if scenario == MULTI_STREAM else None


class BatchSweep:
    """Measures points.

    Args:
        scenario: What queries are like. ``multi-stream`` fixes their size.
        largest_batch: Most samples of a batch.
        largest_query: Most samples of a query, in spite of its least duration.
        sample_s: Rough duration of one sample.
        by_row: Whether a sample is a row of the inputs; else only batches of one are possible.
        is_affordable: Whether the time suffices to prove a gain with queries that last a given
            number of seconds; by default, always. Larger batches than that are left out.
    """

    def __init__(
        self,
        clock: Clock,
        scenario: Scenario,
        largest_batch: int,
        largest_query: int,
        sample_s: float,
        *,
        by_row: bool,
        is_affordable: Callable[[float], bool] = lambda _: True,
    ) -> None:
        self._clock = clock
        self._is_affordable = is_affordable
        self._largest_query = largest_query
        self._sample_s = sample_s
        self._by_row = by_row
        self.scenario = scenario
        self._query_samples = samples_of_query(scenario)
        if self._query_samples is not None:
            largest_batch = min(largest_batch, self._query_samples)
        self.batches = [each for each in BATCHES if each <= largest_batch and (by_row or each == 1)]

    def of_baseline(
        self, session: QuerySession, deadline: float, *, is_open: bool = True
    ) -> list[ThroughputPoint]:
        """Points of all batches, or of one sample unless the network ``is_open``; of each batch,
        the last one counts. Batches after the first that would not end before ``deadline`` are
        left out."""
        points: list[ThroughputPoint] = []
        for batch in self.batches if is_open else _SINGLE:
            if points and not self._fits(batch, points, deadline):
                break
            points.append(self._point(session, "baseline", batch, 1, points))
        limit = _CLOSE * max(point.throughput_per_s for point in points)
        close = [point.batch for point in points if point.throughput_per_s >= limit]
        if len(close) > 1:
            for batch in close:
                if self._fits(batch, points, deadline):
                    points.append(self._point(session, "baseline", batch, 1, points))
        return points

    def of_candidate(
        self,
        session: QuerySession,
        streams: int,
        baseline: Sequence[ThroughputPoint],
        deadline: float,
        *,
        is_open: bool = True,
    ) -> list[ThroughputPoint]:
        """Points of a build, as long as it may be faster than the baseline and they end before
        ``deadline``; of one sample unless it ``is_open``. Empty if even the first would end later.

        Equal batches are compared, or the only one of the baseline. The throughput of a small
        network grows with the batch by factors, so that its first batches say nothing about the
        best of the baseline.
        """
        rivals = {point.batch: point.throughput_per_s for point in baseline}
        (first, *_) = baseline
        points: list[ThroughputPoint] = []
        batches = self._batches_of(streams) if is_open else _SINGLE
        if self._point_s(streams, [first]) > deadline - self._clock.monotonic():
            return []
        for batch in self._coarse(batches):
            if points and not self._fits(batch * streams, points, deadline):
                break
            points.append(self._point(session, "candidate", batch, streams, points))
            if points[1:] and all(
                point.throughput_per_s < _HOPELESS * rivals.get(point.batch, first.throughput_per_s)
                for point in points
            ):
                return points
        neighbour = 2 * chosen(points).batch
        if neighbour in batches and self._fits(neighbour * streams, points, deadline):
            points.append(self._point(session, "candidate", neighbour, streams, points))
        return points

    def samples(self, *units: int, per_s: float) -> int:
        """Samples of a query: of the scenario, or else of one that consists of whole units and
        lasts long enough at a throughput of ``per_s``."""
        if self._query_samples is not None:
            return self._query_samples
        unit = lcm(*units)
        least = min(self._largest_query, ceil(_LEAST_S * per_s))
        return unit * max(1, ceil(least / unit))

    def query(self, samples: int, batch: int, streams: int) -> SampleQuery:
        """A query of this network."""
        return SampleQuery(samples, batch, streams, self._by_row)

    def _batches_of(self, streams: int) -> list[int]:
        """Batches of which a query occupies more than half of the streams, if its size is fixed."""
        most = self._query_samples
        return [
            each for each in self.batches if most is None or each == 1 or each * streams < 2 * most
        ]

    def _coarse(self, batches: Sequence[int]) -> list[int]:
        """Those of ``batches`` that are measured at first."""
        if self._query_samples is None:
            return [each for each in batches if each in _COARSE]
        return sorted({batches[0], batches[-1]})

    def _fits(self, unit: int, before: Sequence[ThroughputPoint], deadline: float) -> bool:
        """Whether a further point with queries of ``unit`` samples, or a multiple, is affordable
        and ends before ``deadline`` if it is as fast as those ``before``."""
        point_s = self._point_s(unit, before)
        is_affordable = self._is_affordable(point_s / _FIRST_RUNS)
        return is_affordable and self._clock.monotonic() + point_s <= deadline

    def _point_s(self, unit: int, before: Sequence[ThroughputPoint]) -> float:
        """Least seconds of a point that is as fast as those ``before``."""
        per_s = max(point.throughput_per_s for point in before)
        return _FIRST_RUNS * self.samples(unit, per_s=per_s) / per_s

    def _point(
        self,
        session: QuerySession,
        side: Side,
        batch: int,
        streams: int,
        before: Sequence[ThroughputPoint],
    ) -> ThroughputPoint:
        """Another point of a build after those ``before``, which say how many samples a query
        needs: batches may be much faster than samples one by one."""
        per_s = max([1 / self._sample_s, *(point.throughput_per_s for point in before)])
        samples = self.samples(batch * streams, per_s=per_s)
        session.query(self.query(samples, batch, streams))
        runs_ns = list(session.time(1, 1).samples_ns)
        more = max(_MORE_RUNS, min(_MOST_RUNS, ceil(_LEAST_S * 1e9 / max(1, runs_ns[0]))))
        if runs_ns[0] * more <= _MORE_S * 1e9:
            runs_ns += session.time(more, 0).samples_ns
        return ThroughputPoint(side, batch, streams, 1e9 * samples / float(np.median(runs_ns)))


def chosen(points: Sequence[ThroughputPoint]) -> ThroughputPoint:
    """The point with the smallest batch that is practically the fastest. Of points of one batch and
    number of streams, the last counts."""
    latest = {(point.batch, point.streams): point for point in points}
    limit = _EQUAL * max(point.throughput_per_s for point in latest.values())
    fast = [point for point in latest.values() if point.throughput_per_s >= limit]
    return min(fast, key=lambda point: (point.batch * point.streams, -point.throughput_per_s))
