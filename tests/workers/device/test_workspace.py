"""A job's folder: private, gone afterwards, swept after a killed worker."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hpcfair.tickets import FileTicket
from workers.device.errors import HubError
from workers.device.workspace import destination, sweep, workspace

PROGRAM = """
import pathlib, sys, time
from workers.device.workspace import workspace
with workspace(pathlib.Path(sys.argv[1]), "killed") as folder:
    (folder / "half-done").write_text("x")
    print(folder, flush=True)
    time.sleep(600)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The folder of a machine's workspaces, before the first job."""
    return tmp_path / "work"


def test_it_is_empty_for_the_job_and_gone_afterwards(work: Path) -> None:
    with workspace(work, "tune") as folder:
        (folder / "deep" / "er").mkdir(parents=True)
        assert folder.is_relative_to(work)
    assert not folder.exists()


def test_it_is_gone_after_a_failure_too(work: Path) -> None:
    with pytest.raises(ValueError, match="broken"), workspace(work, "tune") as folder:
        raise ValueError("broken")
    assert not folder.exists()


def test_a_sweep_spares_who_is_at_work(work: Path) -> None:
    with workspace(work, "tune") as folder:
        sweep(work)
        assert folder.exists()


def test_a_sweep_before_the_first_job_does_nothing(work: Path) -> None:
    sweep(work)
    assert not work.exists()


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "", "."])
def test_fetched_files_stay_in_their_folder(tmp_path: Path, path: str) -> None:
    with pytest.raises(HubError, match="leads outside"):
        destination(tmp_path, FileTicket(path, "0" * 64, 1))


def test_the_folders_of_fetched_files_are_made(tmp_path: Path) -> None:
    place = destination(tmp_path, FileTicket("a/b: c/model.onnx", "0" * 64, 1))
    assert place == tmp_path / "a/b: c/model.onnx"
    assert place.parent.is_dir()


@pytest.mark.slow
def test_a_sweep_removes_what_a_killed_worker_left(work: Path) -> None:
    argv = [sys.executable, "-c", PROGRAM, str(work)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout
        folder = Path(worker.stdout.readline().strip())
        sweep(work)
        assert (folder / "half-done").exists()
        worker.send_signal(signal.SIGKILL)
        worker.wait()
    sweep(work)
    assert not folder.exists()
