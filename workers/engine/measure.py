"""Candidate against baseline: rounds of ABBA blocks through two open sessions.

A round is baseline, candidate, candidate, baseline (processes with odd numbers swap the sides),
so a steady drift of the machine cancels within it. Sides alternate, they never run at once: a
comparison under each other's load would measure the load.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any, Literal

import numpy as np

from workers.engine.clock import SystemClock
from workers.engine.condition import Condition, quality_between, read_condition
from workers.engine.contention import Load, read_load, stall_share, stolen_share
from workers.engine.energy import EnergyMeter
from workers.engine.errors import BaselineFailed, CandidateFailed
from workers.engine.ports import Clock, EnergyCounter, RunningSession
from workers.engine.ratios import (
    FEWEST_ROUNDS,
    half_width,
    ratio_interval,
    round_ratios,
    verdict,
    without,
)
from workers.engine.types import Block, Interval, Measurement, Timing

#: Long enough that a timer tick or an interrupt does not decide a block.
BLOCK_S = 0.03
#: Worker threads of ONNX Runtime spin for about 40 ms after a run (measured, version 1.31): the
#: other side would share its cores with them.
SETTLE_S = 0.05
#: Samples of one side in a round at most, so that a record of fifty rounds stays below 10,000.
MOST_RUNS = 100
#: Untimed share of a block: caches and branch predictors have forgotten this side meanwhile.
WARM_SHARE = 0.25
#: Runs of a new session before the first block; the last of them tell how many fill a block.
WARMUP_RUNS, _CALIBRATION_RUNS = 5, 3
#: A round in which tasks waited for a core this share of the time had company.
CONTENDED_SHARE = 0.25
#: Likewise one that lost a processor to another guest for this share: less, since all threads of a
#: network wait for the one whose processor is gone.
STOLEN_SHARE = 0.1
#: Rounds before a candidate may be given up, and how far above the bar all of them must lie. That
#: a candidate as good as the bar shows this by chance has probability 0.5**3 even without the
#: margin (sign test), and then one trial in a search is lost, not the search.
PRUNE_ROUNDS, PRUNE_MARGIN = 3, 0.10
#: A candidate this many times slower than it should be shows it in its first runs. The very first
#: may pay for what others do not, so the best of a few counts.
GLANCE_FACTOR, _GLANCE_RUNS = 3.0, 3


Side = Literal["baseline", "candidate"]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a measurement ends.

    Attributes:
        half_width: Relative half-width of the ratio's interval aimed at.
        seconds: Cap; at least ``PRUNE_ROUNDS`` rounds run whatever they take.
        rounds: Cap on rounds; ``None`` is unbounded.
        hopeless_above: Give up on a candidate that is clearly slower than this ratio.
    """

    half_width: float
    seconds: float
    rounds: int | None = None
    hopeless_above: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """For :attr:`Measurement.protocol`."""
        words = (
            f"half-width of the ratio's 95 % interval at most {self.half_width:g} after "
            f"{FEWEST_ROUNDS} rounds, or {self.seconds:g} s a process"
        )
        if self.rounds is not None:
            words += f", or {self.rounds} rounds a process"
        return {"stop_rule": words, "half_width": self.half_width, "max_s": self.seconds}


@dataclass(slots=True)
class Rounds:
    """What was measured so far, over one or several processes; grows, then becomes data."""

    blocks: list[Block] = field(default_factory=list)
    contended: list[int] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)
    switches: list[int] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    peaks_bytes: list[int] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    counters: Sequence[EnergyCounter] = ()
    energy: EnergyMeter | None = None
    pruned: bool = False

    def add(self, process: int, timings: Sequence[tuple[Side, Timing]]) -> None:
        """Book a round: the timings of its blocks, in order."""
        samples: dict[Side, list[int]] = {"baseline": [], "candidate": []}
        for side, timing in timings:
            samples[side].extend(timing.samples_ns)
            if timing.involuntary_switches is not None:
                self.switches.append(timing.involuntary_switches)
            if side == "candidate" and timing.peak_rss_bytes is not None:
                self.peaks_bytes.append(timing.peak_rss_bytes)
        self.blocks.append(Block(process, tuple(samples["baseline"]), tuple(samples["candidate"])))

    def judge(self, before: Load, after: Load, seconds: float) -> None:
        """Note whether the round that is about to be added had the machine for itself."""
        stalled, stolen = (share(before, after, seconds) for share in (stall_share, stolen_share))
        if stalled is not None:
            self.stalls.append(stalled)
        if (stalled or 0.0) > CONTENDED_SHARE or (stolen or 0.0) > STOLEN_SHARE:
            self.contended.append(len(self.blocks))

    def ratio(self) -> Interval:
        """The ratio so far, contended rounds left out while enough others remain."""
        return ratio_interval(without(self.blocks, self.contended))

    def measurement(self, rule: Rule) -> Measurement:
        """Ratio, interval, verdict and quality of all rounds, measured under ``rule``."""
        used = without(self.blocks, self.contended)
        ratio = ratio_interval(used)
        said = verdict(ratio, len(used), rule.half_width)
        quality = {
            "unstable": said == "unstable" or half_width(ratio) > rule.half_width,
            "load_before": self.loads[0].average,
            "load_after": self.loads[-1].average,
            "involuntary_switches": sum(self.switches) if self.switches else None,
            "cpu_stall_share": max(self.stalls, default=None),
            "contended_rounds": list(self.contended) or None,
        }
        if self.conditions:
            quality |= quality_between(self.conditions[0], self.conditions[-1])
        return Measurement(
            blocks=tuple(self.blocks),
            ratio=ratio,
            candidate_p50_ns=_p50([block.candidate_ns for block in self.blocks]),
            baseline_p50_ns=_p50([block.baseline_ns for block in self.blocks]),
            verdict=said,
            quality={name: value for name, value in quality.items() if value is not None},
            protocol=rule.as_dict(),
            peak_rss_bytes=max(self.peaks_bytes, default=None),
            energy=self.energy.as_dict() if self.energy else {},
        )

    def watch(self, clock: Clock) -> None:
        """Look at the machine, which a virtual clock knows nothing of."""
        if isinstance(clock, SystemClock):
            self.conditions.append(read_condition())
            self.energy = self.energy or EnergyMeter(clock, self.counters)


def measure_into(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: Rule,
    clock: Clock,
    *,
    process: int = 0,
    load: Callable[[], Load] = read_load,
) -> None:
    """Add the rounds of one more process of each side, until ``rule`` says enough.

    Raises:
        CandidateFailed: the candidate's process ended badly.
        BaselineFailed: the baseline's did.
    """
    started = clock.monotonic()
    rounds.watch(clock)
    pair = _Pair(baseline, candidate, clock, process, rounds.energy)
    first = len(rounds.blocks)
    rounds.loads.append(load())
    while not _enough(rounds, first, rule, clock.monotonic() - started):
        before, at = load(), clock.monotonic()
        timings = pair.round()
        rounds.judge(before, load(), clock.monotonic() - at)
        rounds.add(process, timings)
    rounds.loads.append(load())
    rounds.watch(clock)


def hopeless_at_a_glance(
    rounds: Rounds,
    baseline: RunningSession,
    candidate: RunningSession,
    rule: Rule,
    clock: Clock,
    load: Callable[[], Load] = read_load,
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
    rounds.loads.append(load())
    usual = _time(baseline, "baseline", _GLANCE_RUNS, 1)
    limit_ns = GLANCE_FACTOR * rule.hopeless_above * float(np.median(usual.samples_ns))
    clock.sleep(SETTLE_S)
    seen = _time(candidate, "candidate", 1, 0)
    if min(seen.samples_ns) > limit_ns:
        seen = _time(candidate, "candidate", _GLANCE_RUNS - 1, 0)
        rounds.pruned = min(seen.samples_ns) > limit_ns
    if rounds.pruned:
        rounds.add(0, [("baseline", usual), ("candidate", seen)])
    return rounds.pruned


def _enough(rounds: Rounds, first: int, rule: Rule, spent_s: float) -> bool:
    """Whether to stop, before a round that would take as long as those before it."""
    done = len(rounds.blocks) - first
    if rule.rounds is not None and done >= rule.rounds:
        return True
    if done < PRUNE_ROUNDS:
        return False
    if rule.hopeless_above is not None:
        bar = rule.hopeless_above * (1 + PRUNE_MARGIN)
        rounds.pruned = bool(np.min(round_ratios(rounds.blocks[first:])) > bar)
    if rounds.pruned or spent_s * (done + 1) / done > rule.seconds:
        return True
    undisturbed = len(rounds.blocks) - len(rounds.contended)
    return undisturbed >= FEWEST_ROUNDS and half_width(rounds.ratio()) <= rule.half_width


class _Pair:
    """Two sessions, warmed up, each with the number of runs that fill a block."""

    def __init__(
        self,
        baseline: RunningSession,
        candidate: RunningSession,
        clock: Clock,
        process: int,
        energy: EnergyMeter | None = None,
    ) -> None:
        self._clock = clock
        self._energy = energy
        self._sides: dict[Side, RunningSession] = {"baseline": baseline, "candidate": candidate}
        self._order: tuple[Side, Side] = ("baseline", "candidate")
        if process % 2:
            self._order = ("candidate", "baseline")
        self._runs = {side: self._calibrate(side) for side in self._sides}
        self._last: Side | None = None

    def round(self) -> list[tuple[Side, Timing]]:
        """Timings of one ABBA round; the two inner blocks are neighbours and come as one."""
        outer, inner = self._order
        return [
            (outer, self._block(outer, 1)),
            (inner, self._block(inner, 2)),
            (outer, self._block(outer, 1)),
        ]

    def _block(self, side: Side, blocks: int) -> Timing:
        if side != self._last:
            self._clock.sleep(SETTLE_S)
            self._last = side
        runs, warmup = self._runs[side] * blocks, max(1, ceil(self._runs[side] * WARM_SHARE))
        if self._energy is None or side == "baseline":
            return self._time(side, runs, warmup)
        self._energy.start()
        timing = self._time(side, runs, warmup)
        self._energy.stop(runs + warmup)
        return timing

    def _calibrate(self, side: Side) -> int:
        """Runs that fill ``BLOCK_S``; the first runs of a session allocate and are not counted."""
        self._clock.sleep(SETTLE_S)
        timing = self._time(side, _CALIBRATION_RUNS, WARMUP_RUNS - _CALIBRATION_RUNS)
        typical_s = float(np.median(timing.samples_ns)) / 1e9
        return max(1, min(MOST_RUNS // 2, ceil(BLOCK_S / max(typical_s, 1e-9))))

    def _time(self, side: Side, runs: int, warmup: int) -> Timing:
        return _time(self._sides[side], side, runs, warmup)


def _time(session: RunningSession, side: Side, runs: int, warmup: int) -> Timing:
    try:
        return session.time(runs, warmup)
    except CandidateFailed as error:
        if side == "baseline":
            raise BaselineFailed(error.outcome, str(error)) from error
        raise


def _p50(samples: Sequence[tuple[int, ...]]) -> int:
    return int(np.median(np.concatenate([np.asarray(each, np.int64) for each in samples])))
