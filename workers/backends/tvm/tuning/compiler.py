"""The engine's schedule compiler for TVM, in confined children. Does not import TVM."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, Self

from hpcfair.isolation.limits import Limits
from workers.backends.tvm.tuning.handover import candidates_of
from workers.backends.tvm.tuning.run_process import RunProcess
from workers.backends.tvm.tuning.search_process import SearchProcess
from workers.engine.child import Child
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
)

#: Limit of building or timing a schedule, in seconds; slower schedules are useless.
_RUN_WALL_S = 60.0


class TvmSchedules:
    """A :class:`~workers.engine.schedules.ports.ScheduleCompiler`. Use as a context manager.

    Args:
        target: See :func:`workers.backends.tvm.targets.target_of`.
        limits: Limits of memory and files of each child, and of the time for a proposal.
        scratch: Existing folder for the children.
        strategy: ``evolution``, or the baseline ``random``: the same space without a model.
        batch: Most candidates requested at once.
        threads: Threads of search and timing.
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
        common = {"target": dict(target), "threads": threads}
        self._search = SearchProcess(
            {**common, "strategy": strategy, "seed": seed, "batch": batch},
            lambda: self._child("search", limits.wall_s),
        )
        self._run = RunProcess(common, lambda: self._child("run", _RUN_WALL_S))
        self._proposals: dict[str, Future[Any]] = {}
        self._best_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._search.close()
        self._run.close()

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        usable = [trial for trial in trials if trial.result.outcome != "infrastructure"]
        if not usable:
            return
        self._update_best(
            task, [t.result.median_s for t in usable if t.result.median_s is not None]
        )
        self._search.learn(task, usable)

    def foresee(self, task: ScheduleTask, most: int) -> None:
        if task.key not in self._proposals:
            self._proposals[task.key] = self._search.ask(task, "propose", most=most)

    def propose(self, task: ScheduleTask, most: int) -> Sequence[ScheduleCandidate]:
        self.foresee(task, most)
        return candidates_of(task, self._proposals.pop(task.key).result())[:most]

    def neighbours(
        self, task: ScheduleTask, best: ScheduleCandidate, most: int
    ) -> Sequence[ScheduleCandidate]:
        around = {"sketch": best.sketch, "decisions": best.decisions}
        answer = self._search.ask(task, "neighbours", **around, most=most)
        return candidates_of(task, answer.result())

    def measure(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[ScheduleOutcome]:
        builds = [self._run.build(task, candidate) for candidate in candidates]
        # Searching would disturb the timing.
        self._search.rest()
        for candidate, build in zip(candidates, builds, strict=True):
            outcome = self._run.measure(task, candidate, build, self._best_s.get(task.key))
            self._update_best(task, outcome.seconds)
            yield outcome

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        self._search.rest()
        return self._run.race(task, candidates, rounds)

    def trace(self, task: ScheduleTask, candidate: ScheduleCandidate) -> Any:
        schedule = {"sketch": candidate.sketch, "decisions": candidate.decisions}
        return self._search.ask(task, "trace", **schedule).result()

    def _update_best(self, task: ScheduleTask, seconds: Sequence[float]) -> None:
        self._best_s[task.key] = min([self._best_s.get(task.key, float("inf")), *seconds])

    def _child(self, name: str, wall_s: float) -> Child:
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        return Child(Limits(wall_s, self._limits.memory_bytes, self._limits.file_bytes), folder)
