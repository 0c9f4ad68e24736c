"""Measures a candidate against the baseline, in ABBA rounds through two open sessions."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite

import numpy as np

from hpcfair.measurement.rounds import WARM_S, InterleavedPair
from hpcfair.measurement.types import Side, Timing
from workers.engine.clock import Clock, SystemClock
from workers.engine.contention import Load, read_load
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.ports import RunningSession
from workers.engine.rounds import Rounds, StopRule

#: A candidate whose first runs take this many times as long as it may is pruned at once. The first
#: runs may include one-off costs, so the fastest of a few counts.
FIRST_RUNS_FACTOR, _FIRST_RUNS = 3.0, 3


class PairMeasurement:
    """Measures one pair of processes, in one or more parts.

    Args:
        rounds: Where the rounds are appended.
        load: Reads the machine's load; by default that of this machine, if the clock is real.
        typical_s: As of :class:`~hpcfair.measurement.rounds.InterleavedPair`.

    All methods raise CandidateFailed or BaselineFailed if the process of that side ended badly.
    """

    def __init__(
        self,
        rounds: Rounds,
        baseline: RunningSession,
        candidate: RunningSession,
        clock: Clock,
        *,
        process: int = 0,
        load: Callable[[], Load] | None = None,
        typical_s: Mapping[Side, float] | None = None,
    ) -> None:
        self._rounds = rounds
        self._clock = clock
        self._process = process
        self._load = load or _load_reader(clock)
        self._first = len(rounds.blocks)
        started = clock.monotonic()
        rounds.record_condition(clock)
        self._pair = InterleavedPair(
            BaselineSession(baseline),
            candidate,
            process,
            typical_s=typical_s,
            observer=rounds.energy,
        )
        self._measured_s = clock.monotonic() - started

    def measure(self, rule: StopRule) -> None:
        """Append rounds until ``rule`` ends it. The time between two calls does not count."""
        rounds, clock = self._rounds, self._clock
        started = clock.monotonic() - self._measured_s
        before, before_s = self._load(), clock.monotonic()
        rounds.loads.append(before)
        while not rounds.is_enough(self._first, rule, clock.monotonic() - started):
            timings = self._pair.round()
            after, after_s = self._load(), clock.monotonic()
            rounds.record_contention(before, after, after_s - before_s)
            rounds.add(self._process, timings)
            before, before_s = after, after_s
        rounds.loads.append(before)
        rounds.record_condition(clock)
        self._measured_s = clock.monotonic() - started


def measure_into(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: StopRule,
    clock: Clock,
    *,
    process: int = 0,
    load: Callable[[], Load] | None = None,
) -> None:
    """Append the rounds of one more pair of processes, until ``rule`` ends it. Arguments and errors
    as of :class:`PairMeasurement`."""
    PairMeasurement(rounds, baseline, candidate, clock, process=process, load=load).measure(rule)


def prune_by_first_runs(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: StopRule,
    clock: Clock,
    expected_ns: float | None = None,
) -> bool:
    """Whether the first runs already rule a candidate out; they then form the only round.

    Checks and rounds of code that is a hundred times slower than the baseline would take a hundred
    times as long, too. ``expected_ns`` is the baseline's latency; it is measured if the candidate
    may be too slow, or if it is unknown. Raises as :class:`PairMeasurement`.
    """
    if rule.hopeless_above is None or not isfinite(rule.hopeless_above):
        return False
    factor = FIRST_RUNS_FACTOR * rule.hopeless_above
    if expected_ns is not None and min(candidate.time(1, 0).samples_ns) <= factor * expected_ns:
        return False
    rounds.loads.append(_load_reader(clock)())
    reference = BaselineSession(baseline)
    expected = reference.time(_FIRST_RUNS, 1)
    limit_ns = factor * float(np.median(expected.samples_ns))
    reference.rest()
    first = candidate.time(1, 0)
    if min(first.samples_ns) > limit_ns:
        # Caches, branch predictors and threads of a network of microseconds need many runs.
        warmup = int(WARM_S * 1e9 / max(*first.samples_ns, 1))
        first = candidate.time(_FIRST_RUNS - 1, warmup)
        rounds.is_pruned = min(first.samples_ns) > limit_ns
    if rounds.is_pruned:
        rounds.add(0, [("baseline", expected), ("candidate", first)])
    return rounds.is_pruned


class BaselineSession:
    """The baseline's session: its failures are raised as ``BaselineFailed``."""

    def __init__(self, session: RunningSession) -> None:
        self._session = session

    def time(self, runs: int, warmup: int) -> Timing:
        with _blame_baseline():
            return self._session.time(runs, warmup)

    def rest(self) -> None:
        with _blame_baseline():
            self._session.rest()


@contextmanager
def _blame_baseline() -> Iterator[None]:
    try:
        yield
    except CandidateFailed as error:
        raise BaselineFailed(error.outcome, str(error)) from error


def _load_reader(clock: Clock) -> Callable[[], Load]:
    """Reader of this machine's load, which is meaningless under a virtual clock."""
    return read_load if isinstance(clock, SystemClock) else lambda: Load(None, None)
