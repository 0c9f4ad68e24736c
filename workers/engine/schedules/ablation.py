"""Ablation of a schedule: the time that each of its decisions saves.

The decisions of the best schedule are reverted one at a time, and each variant is built and timed
in turns with the best schedule. Unlike the statistics of a search, which relate values to times,
this is an experiment: nothing else differs between the two sides. Its limit: an effect holds beside
the other decisions of this schedule, and two decisions that replace each other both show none.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hpcfair.measurement.types import Interval
from workers.engine.clock import Clock, SystemClock
from workers.engine.errors import ReferenceFailed
from workers.engine.ports import PhaseTime, Progress, no_progress
from workers.engine.schedules.comparison import ScheduleComparison, compare, compare_built
from workers.engine.schedules.ports import ScheduleCompiler
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    Winner,
)

#: Position of the control: the best schedule beside itself, whose ratio shows the noise.
CONTROL = -1


@dataclass(frozen=True, slots=True)
class Reversal:
    """The best schedule with one decision reverted.

    Attributes:
        position: Of the decision among those of the schedule; :data:`CONTROL` for none.
        value: The value in place of the best one.
        reason: Why this value, such as "not tiled", for people.
    """

    position: int
    value: Any
    reason: str
    candidate: ScheduleCandidate


@dataclass(frozen=True, slots=True)
class ScheduleAblation:
    """A reverted decision and what that did; numbered within its ablation."""

    number: int
    reversal: Reversal
    result: ScheduleComparison


@dataclass(frozen=True, slots=True)
class AblationBudget:
    """Bounds on an ablation: ``seconds`` of building and timing, ``rounds`` of each comparison."""

    seconds: float | None = 60.0
    rounds: int = 12


@dataclass(frozen=True, slots=True)
class AblationResult:
    """The result of an ablation.

    Attributes:
        measured: All comparisons, those of earlier attempts included.
        winner: A variant that was confirmed as faster than the best schedule.
        stop_reason: Why it stopped, as readable text.
    """

    measured: tuple[ScheduleAblation, ...]
    winner: Winner | None
    stop_reason: str


class AblationStore(Protocol):
    """The results of one ablation, and the schedules of its workload. All writes are durable."""

    def measured(self) -> Sequence[ScheduleAblation]:
        """Results of earlier attempts on the same best schedule."""
        ...

    def add(self, ablation: ScheduleAblation) -> None:
        """Store a result; raises LeaseLost."""
        ...

    def offer(self, candidate: ScheduleCandidate, outcome: ScheduleOutcome) -> None:
        """Store a schedule that is faster than the best one as a trial, unless it is stored
        already; raises LeaseLost."""
        ...

    def confirm(self, winner: Winner) -> None:
        """Store the new best schedule of the workload; raises LeaseLost."""
        ...


def ablate(
    task: ScheduleTask,
    best: Winner,
    reversals: Sequence[Reversal],
    compiler: ScheduleCompiler,
    store: AblationStore,
    budget: AblationBudget,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> AblationResult:
    """Measure what each reverted decision costs, after a control.

    Variants that are faster than the best schedule are stored as trials; the fastest becomes the
    best schedule if it wins again in turns with all of them.

    Raises:
        ReferenceFailed: the best schedule cannot be built or timed.
        InfrastructureFailed, CandidateFailed: see
            :func:`workers.engine.schedules.comparison.compare`.
        LeaseLost, Cancelled: from ``store`` or ``progress``.
    """
    clock = clock or SystemClock()
    started = clock.monotonic()
    measured = list(store.measured())
    identities = {_identity(each.reversal) for each in measured}
    control = Reversal(CONTROL, None, "the same schedule, built twice", best.candidate)
    waiting = [each for each in (control, *reversals) if _identity(each) not in identities]
    number = max((each.number for each in measured), default=-1)
    stop_reason = "every decision was reverted"
    for count, reversal in enumerate(waiting):
        used_s = clock.monotonic() - started
        time = PhaseTime(used_s, budget.seconds)
        progress("ablation", len(measured), len(reversals) + 1, _words(reversal), time)
        if budget.seconds is not None and used_s >= budget.seconds:
            stop_reason = f"all {budget.seconds:g} s used, {len(waiting) - count} variants left"
            break
        if reversal.position == CONTROL:
            result = compare_built(
                compiler, task, best.candidate, best.candidate, rounds=budget.rounds
            )
            if result.outcome != "measured":
                raise ReferenceFailed("invalid", f"the best schedule of {task.name} does not run")
        else:
            result = compare(
                compiler, task, best.candidate, reversal.candidate,
                best_s=best.median_s, rounds=budget.rounds,
            )  # fmt: skip
        number += 1
        ablation = ScheduleAblation(number, reversal, result)
        store.add(ablation)
        measured.append(ablation)
    winner = confirm_faster(
        task, best.candidate,
        [(each.reversal.candidate, each.result) for each in measured],
        compiler, store, budget.rounds,
    )  # fmt: skip
    return AblationResult(tuple(measured), winner, stop_reason)


def confirm_faster(
    task: ScheduleTask,
    best: ScheduleCandidate,
    compared: Sequence[tuple[ScheduleCandidate, ScheduleComparison]],
    compiler: ScheduleCompiler,
    store: AblationStore,
    rounds: int,
) -> Winner | None:
    """Offer the schedules that were faster than the best one, and confirm the fastest.

    The fastest of many is in part the luckiest, so it must win once more.
    """
    faster = [(candidate, result) for candidate, result in compared if result.verdict == "faster"]
    for candidate, result in faster:
        outcome = ScheduleOutcome("measured", result.seconds, result.duration_s)
        store.offer(candidate, outcome)
    if not faster:
        return None
    candidate, _ = min(faster, key=lambda each: _ratio(each[1]).value)
    again = compare_built(compiler, task, best, candidate, rounds=rounds)
    if again.verdict != "faster":
        return None
    winner = Winner(candidate, again.seconds, compiler.trace(task, candidate))
    store.confirm(winner)
    return winner


def _ratio(result: ScheduleComparison) -> Interval:
    assert result.ratio is not None  # noqa: S101 - measured
    return result.ratio


def _identity(reversal: Reversal) -> tuple[int, str]:
    return reversal.position, json.dumps(reversal.value)


def _words(reversal: Reversal) -> str:
    if reversal.position == CONTROL:
        return reversal.reason
    return f"decision {reversal.position + 1}: {reversal.reason}"
