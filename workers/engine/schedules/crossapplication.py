"""Cross-application: the best schedules of a workload on other targets, measured on this one.

The question of who tunes for many machines: how much is lost if a schedule is taken over instead of
searched anew. The answer is a ratio to the best schedule of this target, measured in turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from workers.engine.clock import Clock, SystemClock
from workers.engine.ports import PhaseTime, Progress, no_progress
from workers.engine.schedules.ablation import AblationBudget, AblationStore, confirm_faster
from workers.engine.schedules.comparison import ScheduleComparison, compare
from workers.engine.schedules.ports import ScheduleCompiler
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTask, Winner


@dataclass(frozen=True, slots=True)
class ForeignSchedule:
    """The best schedule of the workload on another target.

    ``trial`` identifies it at the hub, ``target`` is the slug of the other target.
    """

    trial: str
    target: str
    candidate: ScheduleCandidate


@dataclass(frozen=True, slots=True)
class CrossApplication:
    """A foreign schedule beside the best one of this target."""

    foreign: ForeignSchedule
    result: ScheduleComparison


class CrossApplicationStore(AblationStore, Protocol):
    """The results of one cross-application job, and the schedules of its workload."""

    def applied(self) -> Sequence[CrossApplication]:
        """Results of earlier attempts."""
        ...

    def add_application(self, application: CrossApplication) -> None:
        """Store a result; raises LeaseLost."""
        ...


def cross_apply(
    task: ScheduleTask,
    best: Winner,
    foreign: Sequence[ForeignSchedule],
    compiler: ScheduleCompiler,
    store: CrossApplicationStore,
    budget: AblationBudget,
    *,
    clock: Clock | None = None,
    progress: Progress = no_progress,
) -> tuple[tuple[CrossApplication, ...], Winner | None]:
    """Measure foreign schedules in turns with the best one of this target.

    A schedule equal to the best one is compared like the others: its ratio shows the noise. A
    faster one becomes the best schedule of this target.

    Returns:
        The results, and the new best schedule, ``None`` without one.

    Raises as :func:`workers.engine.schedules.ablation.ablate`, except ReferenceFailed.
    """
    clock = clock or SystemClock()
    started = clock.monotonic()
    applied = list(store.applied())
    applied_trials = {each.foreign.trial for each in applied}
    for number, each in enumerate(foreign):
        used_s = clock.monotonic() - started
        time = PhaseTime(used_s, budget.seconds)
        progress("cross-application", number, len(foreign), f"the best of {each.target}", time)
        if each.trial in applied_trials:
            continue
        if budget.seconds is not None and used_s >= budget.seconds:
            break
        result = compare(
            compiler, task, best.candidate, each.candidate,
            best_s=best.median_s, rounds=budget.rounds,
        )  # fmt: skip
        application = CrossApplication(each, result)
        store.add_application(application)
        applied.append(application)
    compared = [(each.foreign.candidate, each.result) for each in applied]
    winner = confirm_faster(task, best.candidate, compared, compiler, store, budget.rounds)
    return tuple(applied), winner
