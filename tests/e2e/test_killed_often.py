"""SIGKILL again and again, of workers and of their children, while they inspect and tune.

Nothing is lost, nothing is stored twice, and no process is left. Everything is real: broker, Celery
workers, child processes, ONNX Runtime, the database.
"""

import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from registry.states import JobKind, JobState
from registry.tables import Build, Graph, Job, TestTensor, Trial, User
from tests.e2e.workers import Start, until
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow, needs("linux")]

_CHILD = b"hpcfair.isolation.child_main"
_KILLS = 6


def children(data_dir: Path) -> list[int]:
    """Child processes whose workspace is in the data folder."""
    pids = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                arguments, inside = (folder / "cmdline").read_bytes(), (folder / "cwd").readlink()
            except OSError:
                continue
            if _CHILD in arguments and inside.is_relative_to(data_dir):
                pids.append(int(folder.name))
    return pids


class Fleet:
    """Workers of both roles, started again when they have ended, as the supervisor does."""

    def __init__(self, start: Start, data_dir: Path) -> None:
        self._start, self._data_dir = start, data_dir
        self._rng = random.Random(11)  # noqa: S311
        self._workers = {role: start(role) for role in ("hub", "target")}

    def is_busy(self) -> bool:
        for role, worker in self._workers.items():
            if worker.poll() is not None:
                self._workers[role] = self._start(role)
        return bool(children(self._data_dir))

    def kill_one(self, *, worker: bool) -> bool:
        """Kill a worker or a child at some moment of its work; whether there was one."""
        until(self.is_busy)
        time.sleep(self._rng.random())
        if worker:
            process = self._workers[self._rng.choice(sorted(self._workers))]
            process.send_signal(signal.SIGKILL)
            process.wait()
            return True
        try:
            os.kill(self._rng.choice(children(self._data_dir)), signal.SIGKILL)
        except (ProcessLookupError, IndexError):
            return False
        return True

    def kill_all(self) -> None:
        for worker in self._workers.values():
            worker.kill()
            worker.wait()


def test_killed_again_and_again_jobs_end_once(start: Start, alice: User, settings: Any) -> None:
    data_dir = Path(settings.DATA_DIR)
    start("beat")
    fleet = Fleet(start, data_dir)
    for number in range(2):
        files = {"README.md": readme(), "model.onnx": tiny_onnx(features=number + 4)}
        make_mlmodel(f"alice/net{number}", actor=alice, files=files)
    # Inconclusive measurements are repeated minutes later.
    ending = Job.objects.filter(kind__in=[JobKind.INSPECT, JobKind.TUNE]).exclude(
        parameters__has_key="repeats"
    )

    def is_done() -> bool:
        fleet.is_busy()
        return not ending.filter(state__in=[JobState.QUEUED, JobState.LEASED]).exists()

    killed = 0
    while killed < _KILLS:
        killed += fleet.kill_one(worker=bool(killed % 2))
    until(is_done)
    for job in ending:
        assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert (ending.filter(kind=JobKind.INSPECT).count(), ending.count()) == (2, 4)
    for graph in Graph.objects.all():
        places = list(TestTensor.objects.filter(graph=graph).values_list("number", "side", "index"))
        assert len(places) == len(set(places)) == 6
    assert Graph.objects.filter(is_primary=True).count() == Graph.objects.count() == 2
    assert Build.objects.filter(withdrawn_at=None, is_baseline=True).count() == 2
    for job in ending.filter(kind=JobKind.TUNE):
        numbers = list(Trial.objects.filter(job=job).values_list("number", flat=True))
        assert len(numbers) == len(set(numbers))
    fleet.kill_all()
    until(lambda: not children(data_dir), seconds=60)
