"""Candidate against baseline: rounds of ABBA blocks through two open sessions.

A round is baseline, candidate, candidate, baseline (processes with odd numbers swap the sides),
so a steady drift of the machine cancels within it. Sides alternate, they never run at once: a
comparison under each other's load would measure the load.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil, isfinite

import numpy as np

from workers.engine.clock import SystemClock
from workers.engine.contention import Load, read_load
from workers.engine.energy import EnergyMeter
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.ports import Clock, RunningSession
from workers.engine.rounds import Rounds, Rule, Side
from workers.engine.types import Timing

#: Long enough that a timer tick or an interrupt does not decide a block.
BLOCK_S = 0.03
#: Samples of one side in a round at most, so that a record of fifty rounds stays below 10,000.
MOST_RUNS = 100
#: Untimed runs before a block: caches and branch predictors have forgotten this side meanwhile,
#: and its threads sleep. A time, no share of the runs: fifty of a tiny network take a millisecond.
WARM_S = 0.0075
#: Runs of a new session before the first block; the last of them tell how long one takes.
WARMUP_RUNS, _CALIBRATION_RUNS = 5, 3
#: A candidate this many times slower than it should be shows it in its first runs. The very first
#: may pay for what others do not, so the best of a few counts.
GLANCE_FACTOR, _GLANCE_RUNS = 3.0, 3


def measure_into(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: Rule,
    clock: Clock,
    *,
    process: int = 0,
    load: Callable[[], Load] | None = None,
) -> None:
    """Add the rounds of one more process of each side, until ``rule`` says enough.

    Args:
        load: Looks at the machine; by default at this one, unless the clock is not of it.

    Raises:
        CandidateFailed: the candidate's process ended badly.
        BaselineFailed: the baseline's did.
    """
    started = clock.monotonic()
    load = load or _look(clock)
    rounds.watch(clock)
    pair = _Pair(baseline, candidate, process, rounds.energy)
    first = len(rounds.blocks)
    before, at = load(), clock.monotonic()
    rounds.loads.append(before)
    while not rounds.enough(first, rule, clock.monotonic() - started):
        timings = pair.round()
        after, now = load(), clock.monotonic()
        rounds.judge(before, after, now - at)
        rounds.add(process, timings)
        before, at = after, now
    rounds.loads.append(before)
    rounds.watch(clock)


def hopeless_at_a_glance(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: Rule,
    clock: Clock,
) -> bool:
    """Whether the first runs rule a candidate out; what was seen is then booked as a round.

    Code a hundred times slower than the baseline would otherwise take a search's seconds for
    nothing: its checks and rounds take a hundred times as long as well.

    Raises:
        CandidateFailed: the candidate's process ended badly.
        BaselineFailed: the baseline's did.
    """
    if rule.hopeless_above is None or not isfinite(rule.hopeless_above):
        return False
    rounds.loads.append(_look(clock)())
    usual = _time(baseline, "baseline", _GLANCE_RUNS, 1)
    limit_ns = GLANCE_FACTOR * rule.hopeless_above * float(np.median(usual.samples_ns))
    _rest(baseline, "baseline")
    seen = _time(candidate, "candidate", 1, 0)
    if min(seen.samples_ns) > limit_ns:
        seen = _time(candidate, "candidate", _GLANCE_RUNS - 1, 0)
        rounds.pruned = min(seen.samples_ns) > limit_ns
    if rounds.pruned:
        rounds.add(0, [("baseline", usual), ("candidate", seen)])
    return rounds.pruned


class _Pair:
    """Two sessions, warmed up, and what a run of each takes."""

    def __init__(
        self,
        baseline: RunningSession,
        candidate: RunningSession,
        process: int,
        energy: EnergyMeter | None = None,
    ) -> None:
        self._energy = energy
        self._sides: dict[Side, RunningSession] = {"baseline": baseline, "candidate": candidate}
        self._order: tuple[Side, Side] = ("baseline", "candidate")
        if process % 2:
            self._order = ("candidate", "baseline")
        # It may have been checked just now.
        self._last: Side = "candidate"
        self._typical_s = {side: self._calibrate(side) for side in self._sides}

    def round(self) -> list[tuple[Side, Timing]]:
        """Timings of one ABBA round; the two inner blocks are neighbours and come as one."""
        outer, inner = self._order
        return [
            (outer, self._block(outer, 1)),
            (inner, self._block(inner, 2)),
            (outer, self._block(outer, 1)),
        ]

    def _block(self, side: Side, blocks: int) -> Timing:
        typical_s = self._typical_s[side]
        runs = blocks * min(MOST_RUNS // 2, ceil(BLOCK_S / typical_s))
        warmup = ceil(WARM_S / typical_s)
        self._turn_to(side)
        if self._energy is None or side == "baseline":
            return self._time(side, runs, warmup)
        self._energy.start()
        timing = self._time(side, runs, warmup)
        self._energy.stop(runs + warmup)
        return timing

    def _calibrate(self, side: Side) -> float:
        """Seconds of a run; the first runs of a session allocate and are not counted."""
        self._turn_to(side)
        timing = self._time(side, _CALIBRATION_RUNS, WARMUP_RUNS - _CALIBRATION_RUNS)
        return float(np.median(timing.samples_ns)) / 1e9

    def _time(self, side: Side, runs: int, warmup: int) -> Timing:
        return _time(self._sides[side], side, runs, warmup)

    def _turn_to(self, side: Side) -> None:
        """Have the other side leave the cores to this one."""
        if side != self._last:
            _rest(self._sides[self._last], self._last)
            self._last = side


def _look(clock: Clock) -> Callable[[], Load]:
    """What tells the load, which a virtual clock knows nothing of."""
    return read_load if isinstance(clock, SystemClock) else lambda: Load(None, None)


def _time(session: RunningSession, side: Side, runs: int, warmup: int) -> Timing:
    with _blaming(side):
        return session.time(runs, warmup)


def _rest(session: RunningSession, side: Side) -> None:
    with _blaming(side):
        session.rest()


@contextmanager
def _blaming(side: Side) -> Iterator[None]:
    try:
        yield
    except CandidateFailed as error:
        if side == "baseline":
            raise BaselineFailed(error.outcome, str(error)) from error
        raise
