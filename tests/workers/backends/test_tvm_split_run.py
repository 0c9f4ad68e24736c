"""Build slots on this machine and a run slot on another: builds that are no longer needed."""

import time
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

from workers.backends.tvm.tuning.run_process import CompilerChild
from workers.backends.tvm.tuning.split_run import SplitRun
from workers.engine.child import Child
from workers.engine.schedules.types import ScheduleCandidate, ScheduleTask

TASK = ScheduleTask("a" * 64, "conv", "conv2d", (), 1.0, 1, (1.0,), b"")
CANDIDATES = [ScheduleCandidate(TASK.key, [], [number], "random") for number in range(4)]


class SlowChild:
    """A child whose first build lasts until the test lets it end."""

    def __init__(self) -> None:
        self.begins, self.may_end = Event(), Event()
        self.decisions: list[Any] = []
        self.is_closed = False

    def ready(self, _: ScheduleTask) -> "SlowChild":
        return self

    def call(self, _: str, **arguments: Any) -> list[Any]:
        self.decisions.append(arguments["decisions"])
        self.begins.set()
        assert self.may_end.wait(60)
        return []

    def close(self) -> None:
        self.is_closed = True


def no_runner() -> Child:
    raise AssertionError("nothing is timed")


def test_a_search_that_ends_gives_up_builds_that_have_not_begun(tmp_path: Path) -> None:
    child = SlowChild()
    run = SplitRun([cast("CompilerChild", child)], no_runner, tmp_path, "aarch64-linux-gnu")
    run.build_all(TASK, CANDIDATES)
    assert child.begins.wait(60)
    closing = Thread(target=run.close)
    closing.start()
    while not run._builds[-1].cancelled():
        time.sleep(0.01)
    child.may_end.set()
    closing.join(60)
    assert child.is_closed
    assert child.decisions == [[0]]
