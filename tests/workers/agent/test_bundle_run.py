"""Jobs in a bundle on a device without a network: a network namespace without an interface.

Everything is real: the command, the search in child processes, a SIGKILL in its middle, the import.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from registry.selectors.analysis.ablation import ablations_of
from registry.selectors.work.bundle import bundle_pieces
from registry.services.trust.key import current_key
from registry.services.work.bundle import bundle_export
from registry.services.work.bundleidentity import bundle_enrol
from registry.services.work.bundleimport import bundle_import
from registry.services.work.job import job_submit
from registry.states import DeviceState, JobKind, JobState
from registry.tables import (
    Build,
    Device,
    Job,
    JobBundle,
    MLModel,
    Record,
    ScheduleTask,
    Trial,
    User,
)
from tests.factories import make_mlmodel, readme, tiny_onnx
from tests.programs import needs
from workers.jobs import run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow,
    needs("netns"),
    needs("cryptography"),
]

_ROOT = Path(__file__).resolve().parents[3]
_NO_NETWORK = ("unshare", "--map-root-user", "--net")
_PATIENCE_S = 900.0
_LEFT = 75


def command(state: Path, *arguments: object) -> list[str]:
    agent = [sys.executable, "-m", "workers.agent", "--state", str(state), "bundle"]
    return [*_NO_NETWORK, *agent, *map(str, arguments)]


def agent(state: Path, *arguments: object, status: int = 0) -> str:
    """Run ``hpcfair-agent bundle`` without a network; returns what it prints."""
    done = subprocess.run(
        command(state, *arguments),
        check=False, capture_output=True, text=True, cwd=_ROOT, timeout=_PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def complete_lines(path: Path, content: str) -> list[str]:
    """Lines of a file that contain something, without a last one that is still being written."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if content in line and line.endswith("\n")]


def kill_when(path: Path, content: str, state: Path, *arguments: object) -> None:
    """Start the command, and kill it with all its children once a line contains something."""
    process = subprocess.Popen(command(state, *arguments), cwd=_ROOT, start_new_session=True)
    deadline = time.monotonic() + _PATIENCE_S
    try:
        while not complete_lines(path, content):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def enrolled(state: Path, folder: Path) -> Device:
    """A device that was enrolled by its identity file."""
    agent(state, "identify", folder / "identity", "--name", "cave-1")
    return bundle_enrol(actor=None, path=folder / "identity")


def submit(alice: User, device: Device, **shape: int) -> Job:
    """A short search of an inspected network."""
    files = {"README.md": readme(), "model.onnx": tiny_onnx(**shape)}
    mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
    run.drain([JobKind.INSPECT], here=None)
    revision = MLModel.objects.get(pk=mlmodel.pk).refs.get(name="main").revision
    Job.objects.filter(state=JobState.QUEUED).delete()
    return job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=revision,
        target=device.target,
        parameters={"budget_s": 8, "trials": 2, "backends": ["onnxruntime"]},
    )


def export(device: Device, path: Path) -> JobBundle:
    row = bundle_export(actor=None, device=device.name, budget_s=600.0, lease_s=3600.0)
    path.write_bytes(b"".join(bundle_pieces(row)))
    return row


def test_the_device_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        plain = [sys.executable, "-c", connect]
        assert subprocess.run(plain, check=False).returncode == 0
        cut_off = subprocess.run([*_NO_NETWORK, *plain], check=False, capture_output=True)
    assert b"Network is unreachable" in cut_off.stderr


def test_a_search_is_killed_continued_and_imported(alice: User, tmp_path: Path) -> None:
    state, jobs, out = tmp_path / "agent", tmp_path / "jobs", tmp_path / "results"
    device = enrolled(state, tmp_path)
    job = submit(alice, device)
    row = export(device, jobs)
    keyid = current_key()[1].keyid
    assert "trusts no hub yet" in agent(state, "run", jobs, out, status=1)

    journal = tmp_path / "results.run" / "journal.jsonl"
    kill_when(journal, '"trial_add"', state, "run", jobs, out, "--trust", keyid)
    first = json.loads(complete_lines(journal, '"trial_add"')[0])
    agent(state, "run", jobs, out)
    assert not journal.parent.exists()
    assert "exists already" in agent(state, "run", jobs, out, status=1)

    done = bundle_import(actor=None, path=out)
    assert [one["outcome"] for one in done.report] == ["succeeded"], done.report
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED
    assert job.result["summary"]
    digest = first["columns"]["trial"]["config_sha256"]
    # Candidates that were tried before the kill are not tried again.
    assert Trial.objects.filter(job=job, config_sha256=digest).count() == 1
    baseline = Build.objects.get(is_baseline=True, withdrawn_at=None)
    assert baseline.files.exists()
    documents = Record.objects.values_list("document", flat=True)
    assert {document["provenance"]["job"] for document in documents} == {str(job.uuid)}
    assert Job.objects.filter(kind=JobKind.REPRODUCE).exists()
    counts = Trial.objects.count(), Record.objects.count(), Build.objects.count()
    assert bundle_import(actor=None, path=out).report == done.report
    assert (Trial.objects.count(), Record.objects.count(), Build.objects.count()) == counts
    assert Device.objects.get(pk=row.device_id).state == DeviceState.ACTIVE


@needs("cc")
def test_schedules_are_searched_and_ablated(alice: User, tmp_path: Path, settings: Any) -> None:
    """Both jobs travel: the ablation is planned when the results of the search are imported."""
    settings.SCHEDULE_S = settings.ABLATION_S = 600
    state = tmp_path / "agent"
    device = enrolled(state, tmp_path)
    search = submit(alice, device, features=64, classes=64)
    # The network counts as searched, so that exports plan no search of it.
    Job.objects.filter(pk=search.pk).update(state=JobState.CANCELLED)
    job_submit(
        actor=None, kind=JobKind.SCHEDULE, revision=search.revision, target=device.target,
        parameters={"trials": 6},
    )  # fmt: skip
    carry(device, state, tmp_path / "searched")
    task = ScheduleTask.objects.filter(trials__confirmed_at__isnull=False).latest("flops")
    ablations = Job.objects.filter(kind=JobKind.ABLATE, parameters__workload=str(task.uuid))
    Job.objects.exclude(pk=ablations.get().pk).filter(state=JobState.QUEUED).delete()
    carry(device, state, tmp_path / "ablated")
    assert ablations.get().state == JobState.SUCCEEDED, ablations.get().failure_detail
    control, *rows = ablations_of(None, task)
    assert (control.position, control.outcome) == (-1, "measured")
    assert any(row.outcome == "measured" for row in rows)


def carry(device: Device, state: Path, folder: Path) -> None:
    """Export the jobs of a device, do them and import the results, all of which succeed."""
    folder.mkdir()
    export(device, folder / "jobs")
    keyid = current_key()[1].keyid
    agent(state, "run", folder / "jobs", folder / "results", "--trust", keyid)
    done = bundle_import(actor=None, path=folder / "results")
    assert {one["outcome"] for one in done.report} == {"succeeded"}, done.report


def test_jobs_that_do_not_fit_are_left_or_handed_back(alice: User, tmp_path: Path) -> None:
    state, jobs, out = tmp_path / "agent", tmp_path / "jobs", tmp_path / "results"
    device = enrolled(state, tmp_path)
    job = submit(alice, device)
    export(device, jobs)
    keyid = current_key()[1].keyid
    short: tuple[Any, ...] = ("run", jobs, out, "--trust", keyid, "--seconds", 5)
    assert "1 job is left" in agent(state, *short, status=_LEFT)
    assert not out.exists()
    agent(state, *short, "--finish")
    done = bundle_import(actor=None, path=out)
    assert [one["outcome"] for one in done.report] == ["released"]
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)


def test_bundles_for_others_and_of_others_are_refused(alice: User, tmp_path: Path) -> None:
    state, jobs, out = tmp_path / "agent", tmp_path / "jobs", tmp_path / "results"
    device = enrolled(state, tmp_path)
    submit(alice, device)
    export(device, jobs)
    keyid = current_key()[1].keyid
    another = agent(tmp_path / "another", "run", jobs, out, "--trust", keyid, status=1)
    assert "is for the device 'cave-1', which has another key" in another
    assert "not by" in agent(state, "run", jobs, out, "--trust", "0" * 64, status=1)
    whole = bytearray(jobs.read_bytes())
    whole[whole.index(b"blobs/") + 600] ^= 1
    (tmp_path / "damaged").write_bytes(whole)
    damaged = agent(state, "run", tmp_path / "damaged", out, "--trust", keyid, status=1)
    assert "is refused" in damaged
    assert not out.exists()
