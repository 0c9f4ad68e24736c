"""Builds schedules on this machine and times them on another one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count, cycle
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from workers.backends.tvm.tuning.handover import PACKAGE, seconds_of
from workers.backends.tvm.tuning.run_process import BuildOutcome, CompilerChild, outcome_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import ScheduleCandidate, ScheduleOutcome, ScheduleTask


@dataclass(frozen=True, slots=True)
class Library(BuildOutcome):
    """Result of building a schedule for another machine.

    Attributes:
        path: The linked library; after a failure the file may be missing.
        arguments: ``{"dtype", "shape"}`` of each argument of its function.
    """

    path: Path = Path()
    arguments: tuple[Mapping[str, Any], ...] = ()


class SplitRun:
    """Build slots on this machine and one run slot on the device of the target.

    Candidates are built while others are timed: builds on this machine do not disturb the device.

    Args:
        builders: One child for each build slot; they write to ``folder``.
        new_runner: Starts the child on the device, which can read ``folder``.
        folder: Existing folder for libraries.
        triple: Target triple of the device.
    """

    #: As :attr:`workers.backends.tvm.tuning.run_process.RunProcess.shares_machine`.
    shares_machine = False

    def __init__(
        self,
        builders: Sequence[CompilerChild],
        new_runner: Callable[[], Child],
        folder: Path,
        triple: str,
    ) -> None:
        self._new_runner, self._folder, self._triple = new_runner, folder, triple
        # One thread each: the kernel kills a child when the thread that started it ends.
        self._slots = [(child, ThreadPoolExecutor(1)) for child in builders]
        self._next_slot = cycle(self._slots)
        self._numbers = count()
        self._builds: list[Future[Library]] = []
        self._runner: Child | None = None

    def build_all(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate]
    ) -> Iterator[Library]:
        """Start building candidates in all slots; yields the results in order."""
        builds = [self._submit(task, candidate) for candidate in candidates]
        self._builds = builds
        return (build.result() for build in builds)

    def measure(
        self,
        task: ScheduleTask,  # noqa: ARG002  as RunProcess
        candidate: ScheduleCandidate,  # noqa: ARG002
        build: BuildOutcome,
        best_s: float | None,
    ) -> ScheduleOutcome:
        """Time a built candidate; ``best_s`` is the workload's best time so far."""
        if build.failure is not None:
            return outcome_of(build.failure, build.duration_s)
        assert isinstance(build, Library)  # noqa: S101  made by build_all
        started_s = perf_counter() - build.duration_s
        try:
            answer = self._ready().call(
                f"{PACKAGE}.device:measure",
                library=str(build.path),
                arguments=build.arguments,
                best_s=best_s,
            )
            seconds = seconds_of(answer["seconds"])
        except CandidateFailed as failure:
            self._fail(failure)
            return outcome_of(failure, perf_counter() - started_s)
        finally:
            build.path.unlink(missing_ok=True)
        outcome: Literal["pruned", "measured"] = "pruned" if answer["pruned"] else "measured"
        return ScheduleOutcome(outcome, seconds, perf_counter() - started_s)

    def race(
        self, task: ScheduleTask, candidates: Sequence[ScheduleCandidate], rounds: int
    ) -> Sequence[tuple[float, ...]]:
        """Time candidates in turn; no times if one cannot be built or kills the child."""
        builds = list(self.build_all(task, candidates))
        racing = [{"library": str(b.path), "arguments": b.arguments} for b in builds]
        try:
            if any(build.failure for build in builds):
                return [()] * len(candidates)
            answer = self._ready().call(f"{PACKAGE}.device:race", libraries=racing, rounds=rounds)
            return [seconds_of(seconds) for seconds in answer]
        except CandidateFailed as failure:
            self._fail(failure)
            return [()] * len(candidates)
        finally:
            for build in builds:
                build.path.unlink(missing_ok=True)

    def close(self) -> None:
        """End all children; builds that have not begun are given up."""
        for build in self._builds:
            build.cancel()
        for child, thread in self._slots:
            thread.submit(child.close).result()
            thread.shutdown()
        if self._runner is not None:
            self._runner.close()
            self._runner = None

    def _submit(self, task: ScheduleTask, candidate: ScheduleCandidate) -> "Future[Library]":
        child, thread = next(self._next_slot)
        path = self._folder / f"{next(self._numbers)}.so"
        return thread.submit(self._build, child, task, candidate, path)

    def _build(
        self, child: CompilerChild, task: ScheduleTask, candidate: ScheduleCandidate, path: Path
    ) -> Library:
        started_s = perf_counter()
        try:
            process = child.ready(task)
            # The time to start a new child does not count.
            started_s = perf_counter()
            arguments = process.call(
                f"{PACKAGE}.run:export",
                key=task.key,
                sketch=candidate.sketch,
                decisions=candidate.decisions,
                triple=self._triple,
                out=str(path),
            )
        except CandidateFailed as failure:
            child.fail(failure)
            return Library(perf_counter() - started_s, failure, path)
        if not isinstance(arguments, list) or path.is_symlink():
            invalid = CandidateFailed("crash", "an invalid library", "protocol")
            return Library(perf_counter() - started_s, invalid, path)
        return Library(perf_counter() - started_s, None, path, tuple(arguments))

    def _ready(self) -> Child:
        """The child on the device."""
        if self._runner is None:
            self._runner = self._new_runner()
            self._runner.call(f"{PACKAGE}.device:start")
        return self._runner

    def _fail(self, failure: CandidateFailed) -> None:
        if failure.cause != "exception" and self._runner is not None:
            self._runner.close()
            self._runner = None
