"""Agents in jobs of a real Slurm: they end before the limit, and hand back their jobs."""

import os
import stat
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from hpcfair.machine import describe, target_of
from registry.states import JobKind, JobState
from registry.tables import Device, Job, Trial, User
from tests.programs import needs
from tests.workers.agent.devices import join, publish, until
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub
from tests.workers.agent.slurmcluster import SlurmCluster, slurm_cluster
from workers.agent import enrolment, slurm
from workers.agent.enrolment import Enrolment
from workers.agent.slurm import Allocation
from workers.jobs.run import drain

pytestmark = [needs("slurm"), pytest.mark.slow]

SCRIPT = Path(enrolment.__file__).parent / "deploy" / "hpcfair-agent.sbatch"
COMMAND = f"""#!/bin/sh
exec {sys.executable} -m workers.agent "$@"
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SlurmCluster]:
    """A cluster whose jobs find ``hpcfair-agent``, and ``hpcfair-agents`` in their home."""
    command = tmp_path / "bin" / "hpcfair-agent"
    command.parent.mkdir()
    command.write_text(COMMAND)
    command.chmod(stat.S_IRWXU)
    with slurm_cluster(tmp_path / "slurm") as running:
        path = os.pathsep.join((str(command.parent), running.environment["PATH"]))
        more = {"PATH": path, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
        yield replace(running, environment={**running.environment, **more})


def state_of(tmp_path: Path, number: int = 1) -> Path:
    return tmp_path / "hpcfair-agents" / str(number)


def has_ended(cluster: SlurmCluster, job: str) -> bool:
    return cluster.state(job) not in {"PENDING", "RUNNING", "COMPLETING"}


def test_the_rest_of_an_allocation_is_read(
    cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "sleep"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    job = cluster.submit(script, "--time=10")
    until(lambda: cluster.state(job) == "RUNNING")
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    left_s = Allocation.read({"SLURM_JOB_ID": job}).left_s(60)
    assert left_s is not None
    assert 300 < left_s <= 540
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=20")
    left_s = Allocation.read({"SLURM_JOB_ID": job}).left_s(60)
    assert left_s is not None
    assert 800 < left_s <= 1140
    with pytest.raises(slurm.NoAllocation):
        Allocation.read({"SLURM_JOB_ID": "999"})


def test_an_array_of_agents_ends_before_its_limit(
    cluster: SlurmCluster, hub: ScriptedHub, tmp_path: Path
) -> None:
    for number in (1, 2):
        enrolment = Enrolment(hub.url, f"cluster-{number}", f"hpd_{number}", poll_s=1.0)
        enrolment.write(state_of(tmp_path, number))
    hub.answer = _answer_of_an_idle_hub
    job = cluster.submit(SCRIPT, "--array=1-2", "--time=4", "--oversubscribe", "--exclusive=user")
    for number in (1, 2):
        until(lambda number=number: has_ended(cluster, f"{job}_{number}"))
        assert cluster.state(f"{job}_{number}") == "COMPLETED", _log(cluster)
    hellos = [request for request in hub.requests if request.path == "hello"]
    tokens = {request.headers["authorization"] for request in hellos}
    assert tokens == {"Bearer hpd_1", "Bearer hpd_2"}
    claims = [request.body["available_s"] for request in hub.requests if request.path == "claim"]
    # Four minutes, less a minute to spare; below a minute no job is claimed.
    assert claims
    assert all(60 <= available_s <= 180 for available_s in claims)


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_cancelled_hands_its_search_back(
    cluster: SlurmCluster, live_server: LiveServer, alice: User, tmp_path: Path, settings: Any
) -> None:
    settings.SCHEDULE_S, settings.PASSES_S, settings.DATA_DIR = 0, 0, tmp_path / "data"
    join(live_server.url, state_of(tmp_path))
    slurm_job = cluster.submit(SCRIPT, "--time=30")
    until(lambda: Device.objects.filter(checked_at__isnull=False).exists())
    publish(alice)
    drain([JobKind.INSPECT], here=None)
    job = Job.objects.filter(kind=JobKind.TUNE).earliest("id")
    parameters = {"backends": ["onnxruntime"], "budget_s": 900}
    Job.objects.filter(pk=job.pk).update(parameters=parameters)
    until(Trial.objects.exists)
    cluster.run("scancel", "--signal=TERM", "--batch", slurm_job)
    until(lambda: has_ended(cluster, slurm_job))
    assert cluster.state(slurm_job) == "COMPLETED", _log(cluster)
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)


def _answer_of_an_idle_hub(request: Request) -> Answer:
    if request.path == "hello":
        return 200, {"device": "cluster", "target": asdict(target_of(describe()))}
    if request.path == "claim":
        return 200, {"job": None, "wait_s": 1.0, "reason": "no job is queued", "check": None}
    return 200, {"jobs": [], "state": "active"}


def _log(cluster: SlurmCluster) -> str:
    """The output of the jobs and of the daemons."""
    files = [*cluster.folder.glob("slurm-*.out"), *cluster.folder.glob("*.log")]
    return "\n".join(f"{path.name}:\n{path.read_text()[-3000:]}" for path in files)
