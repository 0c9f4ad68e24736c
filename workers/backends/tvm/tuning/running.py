"""The child that builds schedules and times them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from workers.backends.tvm.tuning.handover import ROOM, packed, seconds_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import ScheduleCandidate, ScheduleOutcome, ScheduleTask

_LONGEST_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class Building:
    """What came of building a schedule.

    Attributes:
        duration_s: What it took.
        failure: ``None`` where the child has it.
    """

    duration_s: float
    failure: CandidateFailed | None = None


class Running:
    """The run child. A candidate that ends it is charged with that, and the next gets a new one.

    Args:
        start: What ``run.start`` is told.
        new_child: Starts a child.
    """

    def __init__(self, start: Mapping[str, Any], new_child: Callable[[], Child]) -> None:
        self._start, self._new_child = dict(start), new_child
        self._child: Child | None = None
        self._known: set[str] = set()

    def build(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Building:
        """Build a candidate, to be timed later."""
        started = perf_counter()
        try:
            child = self._ready(task)
            # A new child's start is nobody's cost.
            started = perf_counter()
            child.call(f"{ROOM}.run:build", **_named(task, candidate))
        except CandidateFailed as failure:
            self._failed(failure)
            return Building(perf_counter() - started, failure)
        return Building(perf_counter() - started)

    def measure(
        self,
        task: ScheduleTask,
        candidate: ScheduleCandidate,
        building: Building,
        best_s: float | None,
    ) -> ScheduleOutcome:
        """Time what was built; it is built again where the child that had it has died since.

        Args:
            best_s: Best known of the workload.
        """
        if building.failure is not None:
            return _outcome_of(building.failure, building.duration_s)
        started = perf_counter() - building.duration_s
        try:
            found = self._ready(task).call(
                f"{ROOM}.run:measure", **_named(task, candidate), best_s=best_s
            )
            seconds = seconds_of(found["seconds"])
        except CandidateFailed as failure:
            self._failed(failure)
            return _outcome_of(failure, perf_counter() - started)
        outcome: Literal["pruned", "measured"] = "pruned" if found["pruned"] else "measured"
        return ScheduleOutcome(outcome, seconds, perf_counter() - started)

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """Time candidates in turn; no times where one ends the child."""
        racing = [{"sketch": c.sketch, "decisions": c.decisions} for c in candidates]
        try:
            found = self._ready(task).call(
                f"{ROOM}.run:race", key=task.key, candidates=racing, rounds=rounds
            )
            return [seconds_of(seconds) for seconds in found]
        except CandidateFailed as failure:
            self._failed(failure)
            return [()] * len(candidates)

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def _ready(self, task: ScheduleTask) -> Child:
        """The child, with the workload in it."""
        if self._child is None:
            self._child = self._new_child()
            self._known.clear()
            self._child.call(f"{ROOM}.run:start", **self._start)
        if task.key not in self._known:
            self._child.call(f"{ROOM}.run:add", key=task.key, source=packed(task))
            self._known.add(task.key)
        return self._child

    def _failed(self, failure: CandidateFailed) -> None:
        """What the child raised leaves it whole; anything else may have shaken it."""
        if failure.cause != "exception":
            self.close()


def _outcome_of(failure: CandidateFailed, duration_s: float) -> ScheduleOutcome:
    return ScheduleOutcome(failure.outcome, (), duration_s, str(failure)[:_LONGEST_DETAIL])


def _named(task: ScheduleTask, candidate: ScheduleCandidate) -> dict[str, Any]:
    return {
        "key": task.key,
        "digest": candidate.digest,
        "sketch": candidate.sketch,
        "decisions": candidate.decisions,
    }
