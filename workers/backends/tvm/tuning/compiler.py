"""The engine's compiler of schedules over TVM, in confined children. Imports no TVM."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Any, Literal, Self

from workers.backends.tvm.tuning.handover import ROOM, candidates_of, packed, seconds_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
)
from workers.engine.types import Limits

#: Building and timing one schedule; one that takes longer is worth nothing.
_RUN_WALL_S = 60.0
_LONGEST_DETAIL = 2000


class TvmSchedules:
    """A :class:`~workers.engine.schedules.ports.ScheduleCompiler`. Use as a context manager.

    A candidate that ends the run child is charged with it, and the next gets a new child. When the
    search child dies its workload is left, and a new one is told again what the old one knew.

    Args:
        target: As :func:`workers.backends.tvm.targets.target_of` names it.
        limits: Memory and files of each child, and the longest wait for a proposal.
        scratch: Existing folder for the children.
        strategy: ``random`` is the baseline: the same space, no model.
        batch: Most candidates asked for at once.
        threads: Used by search and timing.
    """

    def __init__(
        self,
        target: Mapping[str, Any],
        *,
        limits: Limits,
        scratch: Path,
        strategy: Literal["evolution", "random"] = "evolution",
        seed: int = 0,
        batch: int = 8,
        threads: int = 1,
    ) -> None:
        self._target, self._limits, self._scratch = dict(target), limits, scratch
        self._start = {"strategy": strategy, "seed": seed, "batch": batch}
        self._threads = threads
        self._search: Child | None = None
        self._run: Child | None = None
        self._known: dict[str, set[str]] = {"search": set(), "run": set()}
        self._told: dict[str, list[ScheduleTrial]] = {}
        self._tasks: dict[str, ScheduleTask] = {}
        self._hopeless: set[str] = set()
        self._best_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for child in (self._search, self._run):
            if child is not None:
                child.close()

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.learn`."""
        told = [trial for trial in trials if trial.result.outcome != "infrastructure"]
        if not told or task.key in self._hopeless:
            return
        self._told.setdefault(task.key, []).extend(told)
        times = [t.result.median_s for t in told if t.result.median_s is not None]
        known = self._best_s.get(task.key, float("inf"))
        self._best_s[task.key] = min([known, *times])
        # A new child is told everything, these trials among it.
        is_new = self._search is None
        self._searching(task, lambda: None if is_new else self._tell(task.key, told))

    def propose(self, task: ScheduleTask, most: int) -> Sequence[ScheduleCandidate]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.propose`."""
        found = self._searching(task, lambda: self._ask("propose", key=task.key, most=most))
        return candidates_of(task, found)

    def neighbours(
        self, task: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> Sequence[ScheduleCandidate]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.neighbours`."""
        around = {"key": task.key, "sketch": best.sketch, "decisions": best.decisions}
        found = self._searching(task, lambda: self._ask("neighbours", **around, most=most))
        return candidates_of(task, found)

    def measure(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.measure`."""
        for candidate in candidates:
            yield self._measured(task, candidate)

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.race`."""
        racing = [{"sketch": c.sketch, "decisions": c.decisions} for c in candidates]
        try:
            found = self._running(task).call(
                f"{ROOM}.run:race", key=task.key, candidates=racing, rounds=rounds
            )
            times = [seconds_of(seconds) for seconds in found]
        except CandidateFailed as failure:
            self._run_failed(failure)
            return [()] * len(candidates)
        return times

    def trace(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.trace`."""
        wanted = {"sketch": candidate.sketch, "decisions": candidate.decisions}
        return self._searching(task, lambda: self._ask("trace", key=task.key, **wanted))

    def _measured(self, task: ScheduleTask, candidate: ScheduleCandidate) -> ScheduleOutcome:
        started = perf_counter()
        try:
            child = self._running(task)
        except CandidateFailed as failure:
            self._run_failed(failure)
            detail = str(failure)[:_LONGEST_DETAIL]
            return ScheduleOutcome("infrastructure", (), perf_counter() - started, detail)
        # A new child's start is nobody's cost.
        started = perf_counter()
        try:
            found = child.call(
                f"{ROOM}.run:measure",
                key=task.key,
                sketch=candidate.sketch,
                decisions=candidate.decisions,
                best_s=self._best_s.get(task.key),
            )
            seconds = seconds_of(found["seconds"])
        except CandidateFailed as failure:
            self._run_failed(failure)
            detail = str(failure)[:_LONGEST_DETAIL]
            return ScheduleOutcome(failure.outcome, (), perf_counter() - started, detail)
        known = self._best_s.get(task.key, float("inf"))
        self._best_s[task.key] = min(known, *seconds)
        outcome: Literal["pruned", "measured"] = "pruned" if found["pruned"] else "measured"
        return ScheduleOutcome(outcome, seconds, perf_counter() - started)

    def _running(self, task: ScheduleTask) -> Child:
        """The run child, with the workload in it."""
        if self._run is None:
            self._run = self._child("run", _RUN_WALL_S)
            self._run.call(f"{ROOM}.run:start", target=self._target, threads=self._threads)
        if task.key not in self._known["run"]:
            self._run.call(f"{ROOM}.run:add", key=task.key, source=packed(task))
            self._known["run"].add(task.key)
        return self._run

    def _run_failed(self, failure: CandidateFailed) -> None:
        """What the child raised leaves it whole; anything else may have shaken it."""
        if failure.cause != "exception" and self._run is not None:
            self._run.close()
            self._run = None

    def _searching(self, task: ScheduleTask, work: Callable[[], Any]) -> Any:
        """Do something in the search child with a workload; nothing comes of it where it dies."""
        if task.key in self._hopeless:
            return []
        try:
            self._ready(task)
            return work()
        except CandidateFailed as failure:
            if failure.outcome == "infrastructure":
                raise
            self._hopeless.add(task.key)
            if failure.cause != "exception" and self._search is not None:
                self._search.close()
                self._search = None
            return []

    def _ready(self, task: ScheduleTask) -> None:
        """The search child, with the workload and all that a dead one knew in it."""
        self._tasks[task.key] = task
        if self._search is None:
            self._search = self._child("search", self._limits.wall_s)
            self._ask("start", target=self._target, **self._start, threads=self._threads)
            for key in self._told:
                if key not in self._hopeless:
                    self._add(self._tasks[key])
                    self._tell(key, self._told[key])
        if task.key not in self._known["search"]:
            self._add(task)

    def _add(self, task: ScheduleTask) -> None:
        if task.key not in self._known["search"]:
            self._ask("add", key=task.key, anchor=task.anchor, source=packed(task))
            self._known["search"].add(task.key)

    def _tell(self, key: str, trials: Sequence[ScheduleTrial]) -> None:
        told = [
            {
                "digest": trial.candidate.digest,
                "sketch": trial.candidate.sketch,
                "decisions": trial.candidate.decisions,
                "outcome": trial.result.outcome,
                "median_s": trial.result.median_s,
            }
            for trial in trials
        ]
        self._ask("learn", key=key, trials=told)

    def _ask(self, function: str, **arguments: Any) -> Any:
        assert self._search is not None  # noqa: S101  _ready made it
        return self._search.call(f"{ROOM}.search:{function}", **arguments)

    def _child(self, name: str, wall_s: float) -> Child:
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        self._known[name] = set()
        limits = Limits(wall_s, self._limits.memory_bytes, self._limits.file_bytes)
        return Child(limits, folder)
