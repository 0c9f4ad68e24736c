"""The interfaces of a search for schedules: the compiler and the store."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
    TaskHistory,
    Winner,
)


class ScheduleCompiler(Protocol):
    """Proposes, builds and times schedules, and learns from trials.

    A failed candidate is an outcome. ``CandidateFailed`` is raised only if no candidate is at
    fault; its class ``infrastructure`` means that the machine is.
    """

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """Learn from trials of a workload: of this search, of earlier ones, or of similar
        workloads. Their predictions were made before."""
        ...

    def foresee(self, task: ScheduleTask, most: int) -> None:
        """Announce a later :meth:`propose` for this workload. The compiler may prepare it while it
        builds for :meth:`measure`, but never while it times."""
        ...

    def propose(self, task: ScheduleTask, most: int) -> Sequence[ScheduleCandidate]:
        """Schedules to try next; empty if there are none left."""
        ...

    def neighbours(
        self, task: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> Sequence[ScheduleCandidate]:
        """Schedules that differ from ``best`` in one decision, most promising first."""
        ...

    def measure(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        """Build and time each candidate; yields one outcome per candidate, in order."""
        ...

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """Time candidates in turns, ``rounds`` times; no times for one that failed."""
        ...

    def trace(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        """The whole schedule, ready to be applied, as JSON."""
        ...


class ScheduleStore(Protocol):
    """Trials and best schedules of all searches on one target with one toolchain."""

    def history(self, task: ScheduleTask) -> TaskHistory:
        """Trials and best schedule of a workload, of all searches."""
        ...

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, TaskHistory]]:
        """Other workloads with the same anchor, most similar first."""
        ...

    def own_trials(self) -> Sequence[ScheduleTrial]:
        """Trials of earlier attempts of this search."""
        ...

    def add(self, trial: ScheduleTrial) -> None:
        """Store a trial durably before returning; raises LeaseLost as
        :meth:`workers.engine.ports.TrialStore.add`."""
        ...

    def confirm(self, winner: Winner) -> None:
        """Store the best schedule of a workload; raises as :meth:`add`."""
        ...
