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
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                arguments, inside = (folder / "cmdline").read_bytes(), (folder / "cwd").readlink()
            except OSError:
                continue
            if _CHILD in arguments and inside.is_relative_to(data_dir):
                found.append(int(folder.name))
    return found


def test_killed_again_and_again_jobs_end_once(start: Start, alice: User, settings: Any) -> None:
    rng = random.Random(11)  # noqa: S311
    data_dir = Path(settings.DATA_DIR)
    start("beat")
    workers = {role: start(role) for role in ("hub", "target")}
    for number in range(2):
        files = {"README.md": readme(), "model.onnx": tiny_onnx(features=number + 4)}
        make_mlmodel(f"alice/net{number}", actor=alice, files=files)
    killed = 0
    while killed < _KILLS:
        until(lambda: bool(children(data_dir)))
        time.sleep(rng.random())
        if killed % 2:
            role = rng.choice(sorted(workers))
            workers[role].send_signal(signal.SIGKILL)
            workers[role].wait()
            workers[role] = start(role)
        elif alive := children(data_dir):
            try:
                os.kill(rng.choice(alive), signal.SIGKILL)
            except ProcessLookupError:
                continue
        killed += 1

    ending = Job.objects.filter(kind__in=[JobKind.INSPECT, JobKind.TUNE])
    until(lambda: not ending.filter(state__in=[JobState.QUEUED, JobState.LEASED]).exists())
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
    for worker in workers.values():
        worker.kill()
        worker.wait()
    until(lambda: not children(data_dir), seconds=60)
