"""A job's folder: private, gone afterwards, swept after a killed worker."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from workers.jobs.workspace import sweep, workspace

PROGRAM = """
import os, sys, time
os.environ["HPCFAIR_DATA"] = sys.argv[1]
os.environ["DJANGO_SETTINGS_MODULE"] = "hub.settings.development"
import django
django.setup()
from workers.jobs.workspace import workspace
with workspace("killed") as folder:
    (folder / "half-done").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


def test_it_is_empty_for_the_job_and_gone_afterwards(data_dir: Path) -> None:
    with workspace("tune") as folder:
        (folder / "deep" / "er").mkdir(parents=True)
        assert folder.is_relative_to(data_dir)
    assert not folder.exists()


def test_it_is_gone_after_a_failure_too(data_dir: Path) -> None:
    with pytest.raises(ValueError, match="broken"), workspace("tune") as folder:
        raise ValueError("broken")
    assert not folder.exists()


def test_a_sweep_spares_who_is_at_work(data_dir: Path) -> None:
    with workspace("tune") as folder:
        sweep()
        assert folder.exists()


def test_a_sweep_before_the_first_job_does_nothing(data_dir: Path) -> None:
    sweep()
    assert not data_dir.exists()


@pytest.mark.slow
def test_a_sweep_removes_what_a_killed_worker_left(data_dir: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(data_dir)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout
        folder = Path(worker.stdout.readline().strip())
        sweep()
        assert (folder / "half-done").exists()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    sweep()
    assert not folder.exists()
