"""The child process that builds and times schedules."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from workers.backends.tvm.tuning.handover import PACKAGE, seconds_of, source_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import ScheduleCandidate, ScheduleOutcome, ScheduleTask

_LONGEST_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """Result of building a schedule; no ``failure`` if the child has the build."""

    duration_s: float
    failure: CandidateFailed | None = None


class CompilerChild:
    """A child of ``run``, with the workloads that it has received. If a candidate kills it, the
    next one gets a new child.

    ``start`` are the arguments of ``run.start``; ``new_child`` starts a child.
    """

    def __init__(self, start: Mapping[str, Any], new_child: Callable[[], Child]) -> None:
        self._start, self._new_child = dict(start), new_child
        self._child: Child | None = None
        self._added: set[str] = set()

    def ready(self, task: ScheduleTask) -> Child:
        """The child, with the workload added."""
        if self._child is None:
            self._child = self._new_child()
            self._added.clear()
            self._child.call(f"{PACKAGE}.run:start", **self._start)
        if task.key not in self._added:
            self._child.call(f"{PACKAGE}.run:add", key=task.key, source=source_of(task))
            self._added.add(task.key)
        return self._child

    def fail(self, failure: CandidateFailed) -> None:
        """End the child unless it raised an ordinary exception."""
        if failure.cause != "exception":
            self.close()

    def close(self) -> None:
        """End the child."""
        if self._child is not None:
            self._child.close()
            self._child = None


class RunProcess(CompilerChild):
    """The child that builds schedules and times them on this machine."""

    #: Whether timing is disturbed by other work of the search.
    shares_machine = True

    def build_all(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> list[BuildOutcome]:
        """Build candidates for :meth:`measure`."""
        return [self.build(task, candidate) for candidate in candidates]

    def build(self, task: ScheduleTask, candidate: ScheduleCandidate) -> BuildOutcome:
        """Build a candidate for :meth:`measure`."""
        started = perf_counter()
        try:
            child = self.ready(task)
            # Without the time to start a new child.
            started = perf_counter()
            child.call(f"{PACKAGE}.run:build", **_arguments(task, candidate))
        except CandidateFailed as failure:
            self.fail(failure)
            return BuildOutcome(perf_counter() - started, failure)
        return BuildOutcome(perf_counter() - started)

    def measure(
        self,
        task: ScheduleTask,
        candidate: ScheduleCandidate,
        build: BuildOutcome,
        best_s: float | None,
    ) -> ScheduleOutcome:
        """Time a candidate; ``best_s`` is the workload's best time so far. The candidate is built
        again if the child with its build has died."""
        if build.failure is not None:
            return outcome_of(build.failure, build.duration_s)
        started = perf_counter() - build.duration_s
        try:
            answer = self.ready(task).call(
                f"{PACKAGE}.run:measure", **_arguments(task, candidate), best_s=best_s
            )
            seconds = seconds_of(answer["seconds"])
        except CandidateFailed as failure:
            self.fail(failure)
            return outcome_of(failure, perf_counter() - started)
        outcome: Literal["pruned", "measured"] = "pruned" if answer["pruned"] else "measured"
        return ScheduleOutcome(outcome, seconds, perf_counter() - started)

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """Time candidates in turn; no times if one kills the child."""
        racing = [{"sketch": c.sketch, "decisions": c.decisions} for c in candidates]
        try:
            answer = self.ready(task).call(
                f"{PACKAGE}.run:race", key=task.key, candidates=racing, rounds=rounds
            )
            return [seconds_of(seconds) for seconds in answer]
        except CandidateFailed as failure:
            self.fail(failure)
            return [()] * len(candidates)


def outcome_of(failure: CandidateFailed, duration_s: float) -> ScheduleOutcome:
    """The outcome of a failed candidate."""
    return ScheduleOutcome(failure.outcome, (), duration_s, str(failure)[:_LONGEST_DETAIL])


def _arguments(task: ScheduleTask, candidate: ScheduleCandidate) -> dict[str, Any]:
    return {
        "key": task.key,
        "digest": candidate.digest,
        "sketch": candidate.sketch,
        "decisions": candidate.decisions,
    }
