"""The engine's compiler of schedules over TVM, in confined children. Imports no TVM."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from workers.backends.tvm.tuning.handover import candidates_of
from workers.backends.tvm.tuning.running import Running
from workers.backends.tvm.tuning.searching import Searching
from workers.engine.child import Child
from workers.engine.requests import Limits
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
)

#: Building or timing one schedule; one that takes longer is worth nothing.
_RUN_WALL_S = 60.0


class TvmSchedules:
    """A :class:`~workers.engine.schedules.ports.ScheduleCompiler`. Use as a context manager.

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
        self._limits, self._scratch = limits, scratch
        both = {"target": dict(target), "threads": threads}
        self._searching = Searching(
            {**both, "strategy": strategy, "seed": seed, "batch": batch},
            lambda: self._child("search", limits.wall_s),
        )
        self._running = Running(both, lambda: self._child("run", _RUN_WALL_S))
        self._foreseen: dict[str, Future[Any]] = {}
        self._best_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._searching.close()
        self._running.close()

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.learn`."""
        told = [trial for trial in trials if trial.result.outcome != "infrastructure"]
        if not told:
            return
        self._know(task, [t.result.median_s for t in told if t.result.median_s is not None])
        self._searching.learn(task, told)

    def foresee(self, task: ScheduleTask, most: int) -> None:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.foresee`."""
        if task.key not in self._foreseen:
            self._foreseen[task.key] = self._searching.ask(task, "propose", most=most)

    def propose(self, task: ScheduleTask, most: int) -> Sequence[ScheduleCandidate]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.propose`."""
        self.foresee(task, most)
        return candidates_of(task, self._foreseen.pop(task.key).result())[:most]

    def neighbours(
        self, task: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> Sequence[ScheduleCandidate]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.neighbours`."""
        around = {"sketch": best.sketch, "decisions": best.decisions}
        found = self._searching.ask(task, "neighbours", **around, most=most)
        return candidates_of(task, found.result())

    def measure(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.measure`."""
        built = [self._running.build(task, candidate) for candidate in candidates]
        # Whoever thinks disturbs what is timed.
        self._searching.rest()
        for candidate, building in zip(candidates, built, strict=True):
            outcome = self._running.measure(task, candidate, building, self._best_s.get(task.key))
            self._know(task, outcome.seconds)
            yield outcome

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.race`."""
        self._searching.rest()
        return self._running.race(task, candidates, rounds)

    def trace(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        """See :meth:`workers.engine.schedules.ports.ScheduleCompiler.trace`."""
        wanted = {"sketch": candidate.sketch, "decisions": candidate.decisions}
        return self._searching.ask(task, "trace", **wanted).result()

    def _know(self, task: ScheduleTask, seconds: Sequence[float]) -> None:
        self._best_s[task.key] = min([self._best_s.get(task.key, float("inf")), *seconds])

    def _child(self, name: str, wall_s: float) -> Child:
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        return Child(Limits(wall_s, self._limits.memory_bytes, self._limits.file_bytes), folder)
