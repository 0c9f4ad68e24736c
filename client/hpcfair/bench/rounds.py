"""Repeats the rounds of a record, in fresh processes.

The baseline's latency is compared between the processes, as a search compares it between its
trials (:mod:`hpcfair.measurement.level`).
"""

from collections import Counter
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from hpcfair.errors import BadInput
from hpcfair.measurement.level import (
    MOST_REPETITIONS,
    BaselineLevel,
    baseline_latency_ns,
    farthest,
)
from hpcfair.measurement.ratio import is_disturbed, ratio_interval, undisturbed_blocks, verdict
from hpcfair.measurement.rounds import InterleavedPair, TimedSession, block_of
from hpcfair.measurement.types import Block, Interval, Side, Verdict
from hpcfair.progress import Meter
from hpcfair.typingnames import Self

#: Opens a side in a fresh process.
Open = Callable[[], AbstractContextManager[TimedSession]]


@dataclass(frozen=True, slots=True)
class Plan:
    """Numbers of rounds and runs, as read from a record's samples.

    Attributes:
        rounds: Rounds of each process.
        baseline_runs, candidate_runs: Runs of a side in half a round.
        warmup_runs: Runs of a fresh process before its first round.
    """

    rounds: tuple[int, ...]
    baseline_runs: int
    candidate_runs: int
    warmup_runs: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The plan of a record of schema ``hpcfair.bench/1``; raises BadInput if it has no
        baseline."""
        blocks = document["samples"]["blocks"]
        if not all("baseline_ns" in block for block in blocks):
            raise BadInput(
                "The record was measured alone, without a baseline.",
                "Choose one with a comparison: a build's record_id.",
            )
        processes = [block["process"] for block in blocks]
        return cls(
            rounds=tuple(processes.count(process) for process in sorted(set(processes))),
            baseline_runs=max(1, len(blocks[0]["baseline_ns"]) // 2),
            candidate_runs=max(1, len(blocks[0]["candidate_ns"]) // 2),
            warmup_runs=max(1, int(document["protocol"]["warmup_runs"])),
        )


def query_of(protocol: Mapping[str, Any], side: Side) -> dict[str, int] | None:
    """``samples``, ``batch`` and ``streams`` of a side's run; ``None`` if a run is one sample."""
    if "samples_per_run" not in protocol:
        return None
    return {
        "samples": int(protocol["samples_per_run"]),
        "batch": int(protocol["batch"].get(side, 1)),
        "streams": int(protocol["streams"].get(side, 1)),
    }


@dataclass(frozen=True, slots=True)
class RepeatedRounds:
    """The rounds of all processes, in the order of the plan.

    Attributes:
        off_level: Indices into ``blocks`` of rounds whose baseline stayed off its level.
        baseline_shift: The baseline's latency over its level in the process that is farthest off;
            ``None`` if the ratio needs no round of such a process.
        placed: Sides whose calling thread was kept off the processors of pinned workers.
        repetitions: Processes that were repeated because their baseline was off its level.
    """

    blocks: tuple[Block, ...]
    off_level: tuple[int, ...] = ()
    baseline_shift: float | None = None
    placed: frozenset[Side] = frozenset()
    repetitions: int = 0

    @property
    def ratio(self) -> Interval:
        """Over the rounds on the baseline's level, as long as there are enough of them."""
        return ratio_interval(undisturbed_blocks(self.blocks, self.off_level))

    def verdict(self, half_width: float) -> Verdict:
        """As :func:`hpcfair.measurement.ratio.verdict`; ``unstable`` with a ``baseline_shift``."""
        if self.baseline_shift is not None:
            return "unstable"
        rounds = len(undisturbed_blocks(self.blocks, self.off_level))
        return verdict(self.ratio, rounds, half_width)


@dataclass(frozen=True, slots=True)
class _Process:
    """Rounds of one pair of processes, and the sides that were placed."""

    blocks: tuple[Block, ...]
    placed: frozenset[Side]


def measure(plan: Plan, baseline: Open, candidate: Open, meter: Meter) -> RepeatedRounds:
    """Run both sides by the plan; raises RuntimeFailed if a side fails.

    A process whose baseline is off the level of the others is repeated, at most
    ``MOST_REPETITIONS`` times; also one before them, as soon as they show it.
    """
    processes: dict[int, _Process] = {}
    times = Counter[int]()
    shifts: dict[int, float] = {}
    while (number := _next(len(plan.rounds), times, shifts)) is not None:
        with baseline() as one, candidate() as other:
            processes[number] = _run(plan, number, one, other, meter)
        times[number] += 1
        shifts = _shifts(processes)

    ordered = [processes[number] for number in sorted(processes)]
    blocks = [block for each in ordered for block in each.blocks]
    off_level = [at for at, block in enumerate(blocks) if block.process in shifts]
    return RepeatedRounds(
        blocks=tuple(blocks),
        off_level=tuple(off_level),
        baseline_shift=farthest(shifts.values()) if is_disturbed(blocks, off_level) else None,
        placed=frozenset[Side]().union(*(each.placed for each in ordered)),
        repetitions=times.total() - len(ordered),
    )


def _next(count: int, times: Counter[int], off_level: Container[int]) -> int | None:
    """The process to run next: one to repeat, else the first that has not run."""
    again = (n for n in times if n in off_level and times[n] <= MOST_REPETITIONS)
    return next(again, next((n for n in range(count) if n not in times), None))


def _shifts(processes: Mapping[int, _Process]) -> dict[int, float]:
    """The baseline's latency over its level, of each process in which it is off the level."""
    level = BaselineLevel()
    indices = {n: level.add(baseline_latency_ns(processes[n].blocks)) for n in sorted(processes)}
    return {n: round(level.shift(at), 3) for n, at in indices.items() if level.is_off(at)}


def _run(
    plan: Plan, number: int, baseline: TimedSession, candidate: TimedSession, meter: Meter
) -> _Process:
    pair = InterleavedPair(
        baseline,
        candidate,
        number,
        runs={"baseline": plan.baseline_runs, "candidate": plan.candidate_runs},
        warmup_runs=plan.warmup_runs,
    )
    blocks: list[Block] = []
    placed: set[Side] = set()
    before, what = sum(plan.rounds[:number]), f"process {number + 1} of {len(plan.rounds)}"
    for _ in range(plan.rounds[number]):
        timings = pair.round()
        blocks.append(block_of(number, timings))
        placed |= {side for side, timing in timings if timing.caller_placed}
        meter.show(before + len(blocks), sum(plan.rounds), what)
    return _Process(tuple(blocks), frozenset(placed))
