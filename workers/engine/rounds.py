"""What was measured so far, when it is enough, and what it says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from workers.engine.clock import SystemClock
from workers.engine.condition import Condition, quality_between, read_condition
from workers.engine.contention import Load, company_share, stall_share, stolen_share
from workers.engine.energy import EnergyMeter
from workers.engine.ports import Clock, EnergyCounter
from workers.engine.ratios import (
    FEWEST_ROUNDS,
    company_explains,
    disturbed,
    half_width,
    ratio_interval,
    round_ratios,
    undisturbed,
    verdict,
    without,
)
from workers.engine.types import Block, Interval, Measurement, Timing

#: A round in which others may have kept a task from a core this share of the time had company.
CONTENDED_SHARE = 0.25
#: Likewise one that lost a processor to another guest for this share: less, since all threads of a
#: network wait for the one whose processor is gone.
STOLEN_SHARE = 0.1
#: What a process may take in rounds and seconds, as a multiple, where others disturb it.
AGAIN = 2
#: Rounds before a candidate may be given up, and how far above the bar all of them must lie. That
#: a candidate as good as the bar shows this by chance has probability 0.5**3 even without the
#: margin (sign test), and then one trial in a search is lost, not the search.
PRUNE_ROUNDS, PRUNE_MARGIN = 3, 0.10

Side = Literal["baseline", "candidate"]


@dataclass(frozen=True, slots=True)
class Rule:
    """When a measurement ends.

    Attributes:
        half_width: Relative half-width of the ratio's interval aimed at.
        seconds: Cap for a process; at least ``PRUNE_ROUNDS`` rounds run whatever they take. Where
            others disturb, so that rounds are missing, it is ``AGAIN`` times as long.
        rounds: Cap on rounds of a process, likewise; ``None`` is unbounded.
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
        words += f"; up to {AGAIN} times that while others use the processors"
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
        stalled = stall_share(before, after, seconds)
        if stalled is not None:
            self.stalls.append(stalled)
        company = company_share(before, after, seconds) or 0.0
        stolen = stolen_share(before, after, seconds) or 0.0
        if company > CONTENDED_SHARE or stolen > STOLEN_SHARE:
            self.contended.append(len(self.blocks))

    def enough(self, first: int, rule: Rule, spent_s: float) -> bool:
        """Whether to stop, before a round that would take as long as those before it.

        Args:
            first: Number of the process's first round.
            spent_s: Of the process so far.
        """
        done = len(self.blocks) - first
        clean = [at for at in range(first, len(self.blocks)) if at not in self.contended]
        rounds, seconds = rule.rounds, rule.seconds
        if rounds is not None and (len(clean) >= rounds or done >= AGAIN * rounds):
            return True
        if done < PRUNE_ROUNDS:
            return False
        if rule.hopeless_above is not None and len(clean) >= PRUNE_ROUNDS:
            bar = rule.hopeless_above * (1 + PRUNE_MARGIN)
            self.pruned = bool(np.min(round_ratios([self.blocks[at] for at in clean])) > bar)
        if self.pruned:
            return True
        if undisturbed(self.blocks, self.contended) >= FEWEST_ROUNDS:
            if half_width(self.ratio()) <= rule.half_width:
                return True
        elif len(clean) < done and self._of_use(rule):
            seconds *= AGAIN
        return spent_s * (done + 1) / done > seconds

    def ratio(self) -> Interval:
        """The ratio so far, contended rounds left out while enough others remain."""
        return ratio_interval(without(self.blocks, self.contended))

    def measurement(self, rule: Rule) -> Measurement:
        """Ratio, interval, verdict and quality of all rounds, measured under ``rule``.

        Where others left too few rounds alone, the ratio is over all, and only what company cannot
        explain is said of it.
        """
        used = without(self.blocks, self.contended)
        ratio = ratio_interval(used)
        said = verdict(ratio, len(used), rule.half_width)
        company = disturbed(self.blocks, self.contended)
        if company and company_explains(ratio):
            said = "unstable"
        quality = {
            "unstable": said == "unstable" or half_width(ratio) > rule.half_width,
            "load_before": self.loads[0].average,
            "load_after": self.loads[-1].average,
            "involuntary_switches": sum(self.switches) if self.switches else None,
            "cpu_stall_share": max(self.stalls, default=None),
            "contended_rounds": list(self.contended) or None,
            "disturbed": company or None,
        }
        if self.conditions:
            quality |= quality_between(self.conditions[0], self.conditions[-1])
        return Measurement(
            blocks=tuple(self.blocks),
            ratio=ratio,
            candidate_p50_ns=_p50([block.candidate_ns for block in used]),
            baseline_p50_ns=_p50([block.baseline_ns for block in used]),
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

    def _of_use(self, rule: Rule) -> bool:
        """Whether a candidate may reach its bar, as far as disturbed rounds can tell."""
        bar = rule.hopeless_above
        return bar is None or self.ratio().low <= bar * (1 + PRUNE_MARGIN)


def _p50(samples: Sequence[tuple[int, ...]]) -> int:
    return int(np.median(np.concatenate([np.asarray(each, np.int64) for each in samples])))
