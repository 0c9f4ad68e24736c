"""The engine's schedule compiler for TVM, in confined children. Does not import TVM."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, Self

from hpcfair import machine
from hpcfair.isolation.limits import Limits
from workers.backends.tvm import cross
from workers.backends.tvm.tuning.handover import candidates_of
from workers.backends.tvm.tuning.run_process import CompilerChild, RunProcess
from workers.backends.tvm.tuning.search_process import SearchProcess
from workers.backends.tvm.tuning.split_run import SplitRun
from workers.engine.child import Child
from workers.engine.othermachine import OtherMachine
from workers.engine.schedules.types import (
    ScheduleCandidate,
    ScheduleOutcome,
    ScheduleTask,
    ScheduleTrial,
)

#: Limit of building or timing a schedule, in seconds; slower schedules are useless.
_RUN_WALL_S = 60.0
#: Likewise on another machine, which may be much slower than this one: importing TVM on an emulated
#: processor takes a minute.
_DEVICE_WALL_S = 300.0


class TvmSchedules:
    """A :class:`~workers.engine.schedules.ports.ScheduleCompiler`. Use as a context manager.

    Args:
        target: See :func:`workers.backends.tvm.targets.target_of`.
        limits: Limits of memory and files of each child, and of the time for a proposal.
        scratch: Existing folder for the children.
        strategy: ``evolution``, or the baseline ``random``: the same space without a model.
        batch: Most candidates requested at once.
        threads: Threads of search and timing.
        device: The machine of the target, if it is not this one. Schedules are then built and
            linked here and timed there.
        principles: Traits that the first schedules of a workload should have or lack: ``anchor``,
            ``trait`` and ``is_wanted`` each, see :mod:`hpcfair.traits`.
    """

    def __init__(  # noqa: PLR0913 - each is a decision of its own
        self,
        target: Mapping[str, Any],
        *,
        limits: Limits,
        scratch: Path,
        strategy: Literal["evolution", "random"] = "evolution",
        seed: int = 0,
        batch: int = 8,
        threads: int = 1,
        device: OtherMachine | None = None,
        principles: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._limits, self._scratch = limits, scratch
        common = {"target": dict(target), "threads": threads}
        self._search = SearchProcess(
            {
                **common,
                "strategy": strategy,
                "seed": seed,
                "batch": batch,
                "principles": [dict(each) for each in principles],
            },
            lambda: self._child("search", limits.wall_s),
        )
        self._run: RunProcess | SplitRun
        if device is None:
            self._run = RunProcess(common, lambda: self._child("run", _RUN_WALL_S))
        else:
            self._run = self._split(common, device)
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
        builds = self._run.build_all(task, candidates)
        if self._run.shares_machine:
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

    def _split(self, start: Mapping[str, Any], device: OtherMachine) -> SplitRun:
        libraries = self._scratch / "libraries"
        libraries.mkdir(exist_ok=True)
        triple = start["target"].get("mtriple") or cross.TRIPLES[machine.architecture()]

        def new_builder() -> Child:
            return self._child(libraries.name, _RUN_WALL_S, programs=True)

        def new_runner() -> Child:
            return self._child("run", _DEVICE_WALL_S, libraries, interpreter=device.interpreter)

        builders = [CompilerChild(start, new_builder) for _ in range(device.slots)]
        return SplitRun(builders, new_runner, libraries, triple)

    def _child(self, name: str, wall_s: float, *readable: Path, **options: Any) -> Child:
        folder = self._scratch / name
        folder.mkdir(exist_ok=True)
        limits = Limits(wall_s, self._limits.memory_bytes, self._limits.file_bytes)
        return Child(limits, folder, readable, **options)
