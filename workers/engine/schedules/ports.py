"""The two doors of a search for schedules."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from workers.engine.schedules.types import (
    Known,
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
    Winner,
)


class ScheduleCompiler(Protocol):
    """Proposes, builds and times schedules; learns from what it is told.

    A failed candidate is an outcome. Raises ``CandidateFailed`` only where no candidate is to
    blame; its class ``infrastructure`` says that the machine is.
    """

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """Take in trials of a workload: of this search, of earlier ones, or of similar workloads.

        Their predictions were made before.
        """
        ...

    def foresee(self, task: ScheduleTask, most: int) -> None:
        """Hear that :meth:`propose` will be asked for this workload some time: it may think ahead
        while it builds what :meth:`measure` is asked for, though never while it times anything."""
        ...

    def propose(self, task: ScheduleTask, most: int) -> Sequence[ScheduleCandidate]:
        """Schedules worth trying next; empty when there are none left."""
        ...

    def neighbours(
        self, task: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> Sequence[ScheduleCandidate]:
        """Schedules that differ from ``best`` in one decision, the most promising first."""
        ...

    def measure(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        """Build and time each; one outcome per candidate, in order, as it lands."""
        ...

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """Time built candidates in turn, ``rounds`` times; no times for one that failed."""
        ...

    def trace(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        """The whole schedule, ready to be applied, as JSON."""
        ...


class ScheduleStore(Protocol):
    """The memory of all searches on one target with one toolchain."""

    def known(self, task: ScheduleTask) -> Known:
        """What all searches found out about a workload."""
        ...

    def similar(self, task: ScheduleTask) -> Sequence[tuple[ScheduleTask, Known]]:
        """Other workloads of the same anchor, the most similar first."""
        ...

    def own(self) -> Sequence[ScheduleTrial]:
        """Trials that earlier attempts of this very search have paid for."""
        ...

    def add(self, trial: ScheduleTrial) -> None:
        """Keep a trial durably before returning.

        Raises:
            LeaseLost: somebody else does this work now; stop at once.
        """
        ...

    def confirm(self, winner: Winner) -> None:
        """Keep the best schedule of a workload; raises as :meth:`add`."""
        ...
