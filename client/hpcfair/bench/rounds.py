"""Interleaved rounds: baseline, candidate, candidate, baseline, in fresh processes."""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from hpcfair.bench.ratio import Block
from hpcfair.errors import BadInput
from hpcfair.progress import Meter

#: Untimed runs before a block, as the hub has them: caches have forgotten this side meanwhile.
_WARM_S = 0.0075


class Timed(Protocol):
    """What can be timed: :class:`hpcfair.bench.process.Side`. Once it answers, it is at rest."""

    def time(self, runs: int, warmup: int) -> list[int]: ...


#: Opens a side in a fresh process.
Open = Callable[[], AbstractContextManager[Timed]]


@dataclass(frozen=True, slots=True)
class Plan:
    """How often to run what, read out of a record's samples.

    Attributes:
        rounds: Rounds of each process.
        baseline_runs, candidate_runs: Runs of a side in half a round.
        warmup_runs: Untimed runs of a fresh process.
    """

    rounds: tuple[int, ...]
    baseline_runs: int
    candidate_runs: int
    warmup_runs: int

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """The plan a record was made by.

        Raises:
            BadInput: the record compares nothing, so there is nothing to repeat.
        """
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


def measure(
    plan: Plan,
    baseline: Open,
    candidate: Open,
    meter: Meter,
) -> list[Block]:
    """Run both sides by the plan.

    Raises:
        RuntimeFailed: a side broke.
    """
    blocks: list[Block] = []
    for process, rounds in enumerate(plan.rounds):
        with baseline() as one, candidate() as other:
            pair = _Pair(plan, one, other, process)
            for _ in range(rounds):
                blocks.append(pair.round())
                done, total = len(blocks), sum(plan.rounds)
                meter.show(done, total, f"process {process + 1} of {len(plan.rounds)}")
    return blocks


class _Pair:
    """Two open sides, taking turns."""

    def __init__(
        self,
        plan: Plan,
        baseline: Timed,
        candidate: Timed,
        process: int,
    ) -> None:
        self._sides = {"baseline": baseline, "candidate": candidate}
        self._runs = {"baseline": plan.baseline_runs, "candidate": plan.candidate_runs}
        self._process = process
        self._warmup = {
            name: math.ceil(_WARM_S * 1e9 / min(side.time(3, plan.warmup_runs)))
            for name, side in self._sides.items()
        }

    def round(self) -> Block:
        """One ABBA round; processes with odd numbers swap the sides."""
        order = ["baseline", "candidate", "candidate", "baseline"]
        if self._process % 2:
            order = ["candidate", "baseline", "baseline", "candidate"]
        samples: dict[str, list[int]] = {"baseline": [], "candidate": []}
        for side in order:
            samples[side] += self._sides[side].time(self._runs[side], self._warmup[side])
        return Block(self._process, tuple(samples["baseline"]), tuple(samples["candidate"]))
