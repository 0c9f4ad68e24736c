"""The child process that proposes schedules, while others are built."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from workers.backends.tvm.tuning.handover import PACKAGE, source_of
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import ScheduleTask, ScheduleTrial


class SearchProcess:
    """The search child, and a thread that calls it.

    If the child dies, the workload it worked on is abandoned, and a new child gets all other
    workloads and trials again. ``start`` are the arguments of ``search.start``; ``new_child``
    starts a child.
    """

    def __init__(self, start: Mapping[str, Any], new_child: Callable[[], Child]) -> None:
        self._start, self._new_child = dict(start), new_child
        # A single thread: the kernel kills a child when the thread that started it ends.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="searching")
        self._pending: list[Future[Any]] = []
        self._child: Child | None = None
        self._added: set[str] = set()
        self._trials: dict[str, list[ScheduleTrial]] = {}
        self._tasks: dict[str, ScheduleTask] = {}
        self._abandoned: set[str] = set()

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """Queue trials for the child, before any later call; returns at once."""
        self._pending.append(self._thread.submit(self._learn, task, trials))

    def ask(self, task: ScheduleTask, function: str, **arguments: Any) -> "Future[Any]":
        """Queue a call of ``search.<function>``; the answer is empty if the child dies."""

        def work() -> Any:
            return self._call(function, key=task.key, **arguments)

        answer = self._thread.submit(self._guarded, task, work)
        self._pending.append(answer)
        return answer

    def rest(self) -> None:
        """Wait until all queued calls are done; raises CandidateFailed if the infrastructure
        failed."""
        pending, self._pending = self._pending, []
        for answer in pending:
            answer.result()

    def close(self) -> None:
        """End the child after the queued calls."""
        self._thread.submit(self._end).result()
        self._thread.shutdown()

    def _learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        if task.key in self._abandoned:
            return
        self._trials.setdefault(task.key, []).extend(trials)
        # A new child gets all trials, these included.
        is_new = self._child is None
        self._guarded(task, lambda: None if is_new else self._send_trials(task.key, trials))

    def _guarded(self, task: ScheduleTask, work: Callable[[], Any]) -> Any:
        if task.key in self._abandoned:
            return []
        try:
            self._ready(task)
            return work()
        except CandidateFailed as failure:
            if failure.outcome == "infrastructure":
                raise
            self._abandoned.add(task.key)
            if failure.cause != "exception":
                self._end()
            return []

    def _ready(self, task: ScheduleTask) -> None:
        """Start the child if necessary, with all workloads and trials, and add the workload."""
        self._tasks[task.key] = task
        if self._child is None:
            self._child = self._new_child()
            self._added.clear()
            self._call("start", **self._start)
            for key in self._trials:
                if key not in self._abandoned:
                    self._add(self._tasks[key])
                    self._send_trials(key, self._trials[key])
        self._add(task)

    def _add(self, task: ScheduleTask) -> None:
        if task.key not in self._added:
            self._call("add", key=task.key, anchor=task.anchor, source=source_of(task))
            self._added.add(task.key)

    def _send_trials(self, key: str, trials: Sequence[ScheduleTrial]) -> None:
        rows = [
            {
                "digest": trial.candidate.digest,
                "sketch": trial.candidate.sketch,
                "decisions": trial.candidate.decisions,
                "outcome": trial.result.outcome,
                "median_s": trial.result.median_s,
            }
            for trial in trials
        ]
        self._call("learn", key=key, trials=rows)

    def _call(self, function: str, **arguments: Any) -> Any:
        assert self._child is not None  # noqa: S101  set by _ready
        return self._child.call(f"{PACKAGE}.search:{function}", **arguments)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()
