"""ABBA rounds: two sessions timed in alternation.

A round is baseline, candidate, candidate, baseline; pairs of processes with odd numbers swap the
sides. A steady drift of the machine cancels within a round. The sides never run at the same time:
a comparison under each other's load would measure that load.
"""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Protocol

import numpy as np

from hpcfair.measurement.types import Block, Side, Timing

#: Length of a block, in seconds: a timer tick or an interrupt must not decide it.
BLOCK_S = 0.03
#: Most samples of one side in a round, so that a record of fifty rounds stays below 10,000.
MOST_RUNS = 100
#: Untimed runs before a block, in seconds: the other side has evicted the caches and branch
#: predictors, and this side's threads sleep. Not a share of the timed runs: fifty runs of a tiny
#: network take a millisecond.
WARM_S = 0.0075
#: Runs of a new session before its first block; the last of them calibrate the block's length.
WARMUP_RUNS, _CALIBRATION_RUNS = 5, 3


class TimedSession(Protocol):
    """A build that is open in a process of its own."""

    def time(self, runs: int, warmup: int) -> Timing:
        """Time ``runs`` consecutive runs, after ``warmup`` untimed ones."""
        ...

    def rest(self) -> None:
        """Return once the session's threads are idle."""
        ...


class BlockObserver(Protocol):
    """Observes the candidate's blocks, such as a meter of the energy they consume."""

    def start(self) -> None:
        """A block begins."""
        ...

    def stop(self, runs: int) -> None:
        """The block has ended after ``runs`` runs, warm-up included."""
        ...


class InterleavedPair:
    """Two warmed-up sessions that are timed in alternation.

    Args:
        process: Number of this pair of processes, from 0.
        runs: Runs of each side in half a round; by default as many as fill ``BLOCK_S``.
        warmup_runs: Runs of each session before its first block.
        typical_s: Seconds of one run of sessions that are warm already: they get no further runs
            before their first block.
        observer: Of the candidate's blocks.
    """

    def __init__(
        self,
        baseline: TimedSession,
        candidate: TimedSession,
        process: int,
        *,
        runs: Mapping[Side, int] | None = None,
        warmup_runs: int = WARMUP_RUNS,
        typical_s: Mapping[Side, float] | None = None,
        observer: BlockObserver | None = None,
    ) -> None:
        self._sessions: dict[Side, TimedSession] = {"baseline": baseline, "candidate": candidate}
        self._outer: Side = "candidate" if process % 2 else "baseline"
        self._inner: Side = "baseline" if process % 2 else "candidate"
        self._observer = observer
        # The candidate's outputs may have been checked just before.
        self._active: Side = "candidate"
        known_s = typical_s or {}
        run_s = {
            side: known_s[side] if side in known_s else self._calibrate(side, warmup_runs)
            for side in self._sessions
        }
        self._warmup = {side: _warmup_runs(each_s) for side, each_s in run_s.items()}
        self._runs = runs or {side: _block_runs(each_s) for side, each_s in run_s.items()}

    def round(self) -> list[tuple[Side, Timing]]:
        """Timings of one ABBA round; the two inner blocks are adjacent and run as one."""
        return [
            (self._outer, self._block(self._outer, self._runs[self._outer])),
            (self._inner, self._block(self._inner, 2 * self._runs[self._inner])),
            (self._outer, self._block(self._outer, self._runs[self._outer])),
        ]

    def _block(self, side: Side, runs: int) -> Timing:
        self._activate(side)
        session, warmup = self._sessions[side], self._warmup[side]
        if self._observer is None or side == "baseline":
            return session.time(runs, warmup)
        self._observer.start()
        timing = session.time(runs, warmup)
        self._observer.stop(runs + warmup)
        return timing

    def _calibrate(self, side: Side, warmup_runs: int) -> float:
        """Seconds of one run. The first runs of a session allocate memory and do not count."""
        self._activate(side)
        warmup = max(1, warmup_runs - _CALIBRATION_RUNS)
        timing = self._sessions[side].time(_CALIBRATION_RUNS, warmup)
        return float(np.median(timing.samples_ns)) / 1e9

    def _activate(self, side: Side) -> None:
        """Wait until the other side has left the cores to this one."""
        if side != self._active:
            self._sessions[self._active].rest()
            self._active = side


def round_seconds(run_s: float) -> float:
    """Seconds of one side in a round, at most, if one of its runs takes ``run_s``."""
    return 2 * (_block_runs(run_s) + _warmup_runs(run_s)) * run_s


def _block_runs(run_s: float) -> int:
    return min(MOST_RUNS // 2, ceil(BLOCK_S / run_s))


def _warmup_runs(run_s: float) -> int:
    return ceil(WARM_S / run_s)


def block_of(process: int, timings: Sequence[tuple[Side, Timing]]) -> Block:
    """The samples of one round."""
    samples: dict[Side, list[int]] = {"baseline": [], "candidate": []}
    for side, timing in timings:
        samples[side].extend(timing.samples_ns)
    return Block(process, tuple(samples["baseline"]), tuple(samples["candidate"]))
