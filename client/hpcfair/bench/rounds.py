"""Repeats the rounds of a record, in fresh processes."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Self

from hpcfair.errors import BadInput
from hpcfair.measurement.rounds import InterleavedPair, TimedSession, block_of
from hpcfair.measurement.types import Block
from hpcfair.progress import Meter

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


def measure(plan: Plan, baseline: Open, candidate: Open, meter: Meter) -> list[Block]:
    """Run both sides by the plan; raises RuntimeFailed if a side fails."""
    blocks: list[Block] = []
    total = sum(plan.rounds)
    for process, rounds in enumerate(plan.rounds):
        with baseline() as one, candidate() as other:
            pair = InterleavedPair(
                one,
                other,
                process,
                runs={"baseline": plan.baseline_runs, "candidate": plan.candidate_runs},
                warmup_runs=plan.warmup_runs,
            )
            for _ in range(rounds):
                blocks.append(block_of(process, pair.round()))
                meter.show(len(blocks), total, f"process {process + 1} of {len(plan.rounds)}")
    return blocks
