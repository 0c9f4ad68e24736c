"""SIGKILL in the middle of a search: the job resumes, no finished trial runs again.

Everything is real: broker, Celery workers, child processes, ONNX Runtime, the database.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hub import broker
from registry.states import JobKind, JobState, TrialOutcome
from registry.tables import Build, Device, Job, Trial, User
from tests.factories import database_url, make_mlmodel, readme, tiny_onnx

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 900.0

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def start(settings: Any, tmp_path: Path) -> Iterator[Start]:
    """Starts ``python -m workers ROLE`` on the test's own database and a broker of its own."""
    sock = tmp_path / "valkey.sock"
    settings.REDIS_URL = f"redis+socket://{sock}"
    environment = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "HPCFAIR_DATA": str(settings.DATA_DIR),
        # A busy machine must be able to keep a lease, or a worker that lives loses its job, too.
        "HPCFAIR_LEASE_SECONDS": "10",
        "HPCFAIR_REAP_SECONDS": "1",
        "HPCFAIR_TUNE_SECONDS": "10",
        # Nothing but the search: no looks from outside, no studies.
        "HPCFAIR_ASSESS_DAYS": "0",
        "HPCFAIR_PASSES_SECONDS": "0",
        "HPCFAIR_SCHEDULE_SECONDS": "0",
        "DJANGO_SETTINGS_MODULE": "hub.settings.production",
    }
    running = [subprocess.Popen(broker.command(sock), stdout=subprocess.DEVNULL)]

    def run(role: str) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "workers", role], cwd=ROOT, env=environment
        )
        running.append(process)
        return process

    try:
        until(lambda: broker.answers(sock))
        yield run
    finally:
        for process in reversed(running):
            process.kill()
            process.wait()
    until(lambda: not descendants(sock))


def descendants(sock: Path) -> list[int]:
    """Processes that still carry this test's broker in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                environment = (folder / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(sock) in environment:
                found.append(int(folder.name))
    return found


def until(condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.1)


def test_work_waits_for_its_worker_and_a_killed_search_repeats_nothing(
    start: Start, alice: User
) -> None:
    start("beat")
    worker = start("target")
    until(Device.objects.exists)
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    make_mlmodel("alice/net", actor=alice, files=files)
    # Who inspects it starts later.
    start("hub")
    # A busy machine spends a search's time on its first candidate; the baseline is always tried.
    until(Trial.objects.exists)
    assert Job.objects.get(kind=JobKind.INSPECT).state == JobState.SUCCEEDED
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    before = {trial.pk: trial.config_sha256 for trial in Trial.objects.all()}
    killed = Job.objects.get(kind=JobKind.TUNE)
    assert killed.state == JobState.LEASED

    start("target")
    until(lambda: Job.objects.get(kind=JobKind.TUNE).state not in {"queued", "leased"})
    job = Job.objects.get(kind=JobKind.TUNE)
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.attempt > killed.attempt
    assert job.fence > killed.fence
    trials = list(Trial.objects.exclude(outcome=TrialOutcome.INFRASTRUCTURE))
    assert before.items() <= {trial.pk: trial.config_sha256 for trial in trials}.items()
    assert len({trial.config_sha256 for trial in trials}) == len(trials)
    assert Build.objects.filter(withdrawn_at=None, is_baseline=True).count() == 1
