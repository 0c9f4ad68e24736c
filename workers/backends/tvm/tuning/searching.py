"""The child that thinks of schedules, which it does while others are built."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from workers.backends.tvm.tuning.handover import ROOM, packed
from workers.engine.child import Child
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.types import ScheduleTask, ScheduleTrial


class Searching:
    """The search child and the one thread that talks to it, one question after another.

    When the child dies its workload is left, and a new one is told again what the old one knew.

    Args:
        start: What ``search.start`` is told.
        new_child: Starts a child.
    """

    def __init__(self, start: Mapping[str, Any], new_child: Callable[[], Child]) -> None:
        self._start, self._new_child = dict(start), new_child
        # One for good: the kernel ends a child when the thread that started it ends.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="searching")
        self._under_way: list[Future[Any]] = []
        self._child: Child | None = None
        self._known: set[str] = set()
        self._told: dict[str, list[ScheduleTrial]] = {}
        self._tasks: dict[str, ScheduleTask] = {}
        self._hopeless: set[str] = set()

    def learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        """Have it told of trials before it is asked anything else; returns at once."""
        self._under_way.append(self._thread.submit(self._learn, task, trials))

    def ask(self, task: ScheduleTask, function: str, **arguments: Any) -> "Future[Any]":
        """Have ``search.<function>`` called; nothing comes of it where the child dies of it."""

        def work() -> Any:
            return self._call(function, key=task.key, **arguments)

        answer = self._thread.submit(self._working, task, work)
        self._under_way.append(answer)
        return answer

    def rest(self) -> None:
        """Wait until it does nothing more.

        Raises:
            CandidateFailed: it failed by the machine's fault.
        """
        under_way, self._under_way = self._under_way, []
        for answer in under_way:
            answer.result()

    def close(self) -> None:
        """End the child, after what it is at."""
        self._thread.submit(self._end).result()
        self._thread.shutdown()

    def _learn(self, task: ScheduleTask, trials: Sequence[ScheduleTrial]) -> None:
        if task.key in self._hopeless:
            return
        self._told.setdefault(task.key, []).extend(trials)
        # A new child is told everything, these trials among it.
        is_new = self._child is None
        self._working(task, lambda: None if is_new else self._tell(task.key, trials))

    def _working(self, task: ScheduleTask, work: Callable[[], Any]) -> Any:
        if task.key in self._hopeless:
            return []
        try:
            self._ready(task)
            return work()
        except CandidateFailed as failure:
            if failure.outcome == "infrastructure":
                raise
            self._hopeless.add(task.key)
            if failure.cause != "exception":
                self._end()
            return []

    def _ready(self, task: ScheduleTask) -> None:
        """The child, with the workload and all that a dead one knew in it."""
        self._tasks[task.key] = task
        if self._child is None:
            self._child = self._new_child()
            self._known.clear()
            self._call("start", **self._start)
            for key in self._told:
                if key not in self._hopeless:
                    self._add(self._tasks[key])
                    self._tell(key, self._told[key])
        self._add(task)

    def _add(self, task: ScheduleTask) -> None:
        if task.key not in self._known:
            self._call("add", key=task.key, anchor=task.anchor, source=packed(task))
            self._known.add(task.key)

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
        self._call("learn", key=key, trials=told)

    def _call(self, function: str, **arguments: Any) -> Any:
        assert self._child is not None  # noqa: S101  _ready made it
        return self._child.call(f"{ROOM}.search:{function}", **arguments)

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.close()
