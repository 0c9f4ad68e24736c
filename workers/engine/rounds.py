"""The rounds of a measurement: when there are enough of them, and the result they support."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, get_args

import numpy as np

from hpcfair.measurement import sequential
from hpcfair.measurement.level import farthest
from hpcfair.measurement.ratio import (
    FEWEST_ROUNDS,
    METHOD,
    is_disturbed,
    ratio_interval,
    round_ratios,
    undisturbed_blocks,
    undisturbed_count,
    verdict,
)
from hpcfair.measurement.rounds import block_of
from hpcfair.measurement.types import Block, Interval, Side, Timing
from workers.engine.clock import Clock, SystemClock
from workers.engine.condition import Condition, quality_between, read_condition
from workers.engine.contention import (
    Load,
    can_explain,
    contention_share,
    stall_share,
    stolen_share,
)
from workers.engine.energy import EnergyMeter
from workers.engine.ports import EnergyCounter
from workers.engine.trials import Measurement

#: A round counts as contended if others may have kept a task from a core for more than this share
#: of it.
CONTENDED_SHARE = 0.25
#: Likewise if another guest had a processor for more than this share: all threads of a network
#: wait for the one whose processor is gone.
STOLEN_SHARE = 0.1
#: Factor by which contention may extend a process's rounds and seconds.
EXTENSION = 2
#: Rounds before a candidate may be pruned, and the relative margin by which all of them must
#: exceed the limit. Both rounds of a candidate at the limit exceed the margin only where the noise
#: of a round is a tenth; the search then loses one trial.
PRUNE_ROUNDS, PRUNE_MARGIN = 2, 0.10
#: Fewest rounds of a process that is not pruned.
LEAST_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class StopRule:
    """When a measurement ends.

    Attributes:
        half_width: Relative half-width of the ratio's interval at which it is precise enough.
        seconds: Cap per process. At least ``LEAST_ROUNDS`` rounds run in any case; if contention
            leaves too few clean rounds, the cap is ``EXTENSION`` times as long.
        rounds: Cap on rounds per process, extended likewise; ``None`` is unbounded.
        hopeless_above: Ratio above which a candidate is pruned; ``None`` prunes nothing.
        most_seconds: Cap per process that contention does not extend.
    """

    half_width: float
    seconds: float
    rounds: int | None = None
    hopeless_above: float | None = None
    most_seconds: float = inf

    def as_dict(self) -> dict[str, Any]:
        """As :attr:`Measurement.protocol`."""
        text = (
            f"half-width of the ratio's 95 % interval at most {self.half_width:g} after "
            f"{FEWEST_ROUNDS} rounds, or {self.seconds:g} s a process"
        )
        if self.rounds is not None:
            text += f", or {self.rounds} rounds a process"
        text += f"; up to {EXTENSION} times that while others use the processors"
        return {"stop_rule": text, "half_width": self.half_width, "max_s": self.seconds}


@dataclass(slots=True)
class Rounds:
    """The rounds measured so far, over one or several processes.

    Attributes:
        contended: Indices into ``blocks`` of the contended rounds.
        stalls: Per round, share of its time in which some task waited for a core.
        switches: Involuntary context switches of each timed block.
        loads: Before the first and after the last round of each process.
        peaks_bytes: Peak memory of the candidate's process, per block.
        conditions: State of the machine around each process's rounds; empty under a virtual clock.
        counters: Energy counters to read.
        is_pruned: Whether the candidate turned out to be too slow.
        placed: Sides whose calling thread was kept off the processors of pinned workers.
        repetitions: Processes that were repeated because their baseline was off its level.
        shifts: The baseline's latency over its level, of processes that were set aside.
        is_sequential: Whether processes are added until a decision is reached, so that the interval
            must be valid at all times.
    """

    blocks: list[Block] = field(default_factory=list)
    contended: list[int] = field(default_factory=list)
    stalls: list[float] = field(default_factory=list)
    switches: list[int] = field(default_factory=list)
    loads: list[Load] = field(default_factory=list)
    peaks_bytes: list[int] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    counters: Sequence[EnergyCounter] = ()
    energy: EnergyMeter | None = None
    is_pruned: bool = False
    placed: set[Side] = field(default_factory=set)
    repetitions: int = 0
    shifts: list[float] = field(default_factory=list)
    is_sequential: bool = False

    def add(self, process: int, timings: Sequence[tuple[Side, Timing]]) -> None:
        """Append a round, given the timings of its blocks in order."""
        for side, timing in timings:
            if timing.involuntary_switches is not None:
                self.switches.append(timing.involuntary_switches)
            if side == "candidate" and timing.peak_rss_bytes is not None:
                self.peaks_bytes.append(timing.peak_rss_bytes)
            if timing.caller_placed:
                self.placed.add(side)
        self.blocks.append(block_of(process, timings))

    def forget(self, first: int) -> None:
        """Remove the rounds from index ``first`` on, which are measured again."""
        del self.blocks[first:]
        self.contended = [at for at in self.contended if at < first]
        self.is_pruned = False
        self.repetitions += 1

    def set_aside(self, first: int, shift: float) -> None:
        """Treat the rounds from index ``first`` on like contended ones: their baseline took
        ``shift`` times as long as usual."""
        self.contended = sorted({*self.contended, *range(first, len(self.blocks))})
        self.is_pruned = False
        self.shifts.append(shift)

    def baseline_ns(self, first: int) -> float:
        """The baseline's median latency in the rounds from index ``first`` on, without contended
        ones if others remain."""
        clean = [b for at, b in enumerate(self.blocks) if at >= first and at not in self.contended]
        return _p50([block.baseline_ns for block in clean or self.blocks[first:]])

    def record_contention(self, before: Load, after: Load, seconds: float) -> None:
        """Record whether the next round to be added was contended."""
        stalled = stall_share(before, after, seconds)
        if stalled is not None:
            self.stalls.append(stalled)
        contention = contention_share(before, after, seconds) or 0.0
        stolen = stolen_share(before, after, seconds) or 0.0
        if contention > CONTENDED_SHARE or stolen > STOLEN_SHARE:
            self.contended.append(len(self.blocks))

    def is_enough(self, first: int, rule: StopRule, elapsed_s: float) -> bool:
        """Whether to stop before another round, which would take as long as those before it.

        ``first`` is the index of the process's first round, ``elapsed_s`` the time that the process
        has been measured for.
        """
        done = len(self.blocks) - first
        clean = [at for at in range(first, len(self.blocks)) if at not in self.contended]
        rounds, seconds = rule.rounds, rule.seconds
        if rule.hopeless_above is not None and len(clean) >= PRUNE_ROUNDS:
            limit = rule.hopeless_above * (1 + PRUNE_MARGIN)
            self.is_pruned = bool(np.min(round_ratios([self.blocks[at] for at in clean])) > limit)
        if self.is_pruned:
            return True
        if rounds is not None and (len(clean) >= rounds or done >= EXTENSION * rounds):
            return True
        if done < LEAST_ROUNDS:
            return False
        if undisturbed_count(self.blocks, self.contended) >= FEWEST_ROUNDS:
            if self.ratio().half_width <= rule.half_width:
                return True
        elif len(clean) < done and self._may_be_useful(rule):
            seconds *= EXTENSION
        return elapsed_s * (done + 1) / done > min(seconds, rule.most_seconds)

    def ratio(self) -> Interval:
        """The ratio so far, without contended rounds as long as enough others remain."""
        return self._interval(self.used)

    @property
    def used(self) -> Sequence[Block]:
        """The rounds that count for the ratio."""
        return undisturbed_blocks(self.blocks, self.contended)

    def measurement(self, rule: StopRule) -> Measurement:
        """Ratio, verdict and quality of all rounds, measured under ``rule``.

        If contention left too few clean rounds, the ratio is over all of them, and a verdict that
        contention alone can explain becomes ``unstable``, as does any if the baseline was off its
        level.
        """
        used = self.used
        ratio = self._interval(used)
        statement = verdict(ratio, len(used), rule.half_width)
        disturbed = is_disturbed(self.blocks, self.contended)
        shift = farthest(self.shifts) if disturbed and self.shifts else None
        if disturbed and (shift is not None or can_explain(ratio)):
            statement = "unstable"
        quality = {
            "unstable": statement == "unstable" or ratio.half_width > rule.half_width,
            "load_before": self.loads[0].average,
            "load_after": self.loads[-1].average,
            "involuntary_switches": sum(self.switches) if self.switches else None,
            "cpu_stall_share": max(self.stalls, default=None),
            "contended_rounds": list(self.contended) or None,
            "disturbed": disturbed or None,
            "repeated_processes": self.repetitions or None,
            "baseline_shift": shift,
        }
        if self.conditions:
            quality |= quality_between(self.conditions[0], self.conditions[-1])
        return Measurement(
            blocks=tuple(self.blocks),
            ratio=ratio,
            candidate_p50_ns=_p50([block.candidate_ns for block in used]),
            baseline_p50_ns=_p50([block.baseline_ns for block in used]),
            verdict=statement,
            quality={name: value for name, value in quality.items() if value is not None},
            protocol={
                **rule.as_dict(),
                "caller_placed": {side: side in self.placed for side in get_args(Side)},
            },
            peak_rss_bytes=max(self.peaks_bytes, default=None),
            energy=self.energy.as_dict() if self.energy else {},
            method=sequential.METHOD if self.is_sequential else METHOD,
        )

    def record_condition(self, clock: Clock) -> None:
        """Record the state of the machine, unless the clock is virtual."""
        if isinstance(clock, SystemClock):
            self.conditions.append(read_condition())
            self.energy = self.energy or EnergyMeter(clock, self.counters)

    def _interval(self, blocks: Sequence[Block]) -> Interval:
        interval = sequential.sequential_interval if self.is_sequential else ratio_interval
        return interval(blocks)

    def _may_be_useful(self, rule: StopRule) -> bool:
        """Whether the candidate may be fast enough, as far as disturbed rounds can tell."""
        limit = rule.hopeless_above
        return limit is None or self.ratio().low <= limit * (1 + PRUNE_MARGIN)


def _p50(samples: Sequence[tuple[int, ...]]) -> int:
    return int(np.median(np.concatenate([np.asarray(each, np.int64) for each in samples])))
