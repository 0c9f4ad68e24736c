"""A machine joins a hub with two commands, works for it, and survives crashes and signals.

Everything is real: the hub over HTTP, the agent with its heartbeat process, ONNX Runtime.
"""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from registry.states import DeviceState, JobState, TrialOutcome
from registry.tables import Build, Device, Job, JobAttempt, Trial, User
from tests.workers.agent.devices import (
    PATIENCE_S,
    agent,
    agent_command,
    join,
    listening,
    queued_search,
    until,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def searches(settings: Any, data_dir: Path) -> None:
    """Short searches, and no background jobs."""
    settings.TUNE_BUDGET_S, settings.SCHEDULE_S, settings.PASSES_S = 3, 0, 0
    settings.JOB_LEASE_S = 30


def status(state: Path) -> dict[str, Any]:
    command = agent_command(state, "status", "--json")
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.usefixtures("searches")
def test_a_machine_joins_tunes_and_leaves(
    live_server: LiveServer, alice: User, state: Path
) -> None:
    assert "hpcfair-agent run" in join(live_server.url, state)
    assert (state / "device.key").stat().st_mode & 0o777 == 0o600
    device = Device.objects.get()
    token = json.loads((state / "device.json").read_text())["token"]
    with agent(state) as process:
        until(lambda: Device.objects.filter(checked_at__isnull=False).exists())
        job = queued_search(alice, trials=2)
        opened: list[str] = []

        def has_ended() -> bool:
            opened.extend(listening(process.pid))
            return Job.objects.get(pk=job.pk).state not in {"queued", "leased"}

        until(has_ended)
        assert opened == []
        job.refresh_from_db()
        assert job.state == JobState.SUCCEEDED, job.failure_detail
        assert job.device == device
        assert Build.objects.filter(is_baseline=True, withdrawn_at=None).exists()
        assert status(state)["is_running"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    log = (state / "log").read_text()
    assert token not in log
    command = agent_command(state, "leave")
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    device.refresh_from_db()
    assert device.state == DeviceState.RETIRED
    assert not (state / "device.key").exists()


@pytest.mark.usefixtures("searches")
def test_a_killed_agent_continues_under_the_same_claim(
    live_server: LiveServer, alice: User, state: Path
) -> None:
    join(live_server.url, state)
    with agent(state) as process:
        until(lambda: Device.objects.filter(checked_at__isnull=False).exists())
        job = queued_search(alice, trials=3)
        # A busy machine spends all time on its first candidate; the baseline is always tried.
        until(Trial.objects.exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    before = {trial.pk: trial.config_sha256 for trial in Trial.objects.all()}
    assert Job.objects.get(pk=job.pk).state == JobState.LEASED
    with agent(state):
        until(lambda: Job.objects.get(pk=job.pk).state not in {"queued", "leased"})
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert job.fence == 1
    assert JobAttempt.objects.filter(job=job).count() == 1
    trials = list(Trial.objects.exclude(outcome=TrialOutcome.INFRASTRUCTURE))
    assert before.items() <= {trial.pk: trial.config_sha256 for trial in trials}.items()
    assert len({trial.config_sha256 for trial in trials}) == len(trials)


@pytest.mark.usefixtures("searches")
def test_a_second_signal_hands_the_job_back(
    live_server: LiveServer, alice: User, state: Path
) -> None:
    join(live_server.url, state)
    with agent(state) as process:
        until(lambda: Device.objects.filter(checked_at__isnull=False).exists())
        job = queued_search(alice, budget_s=600)
        until(Trial.objects.exists)
        process.send_signal(signal.SIGTERM)
        # Another one, because two pending signals of a kind are one.
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert status(state)["job"] == ""


def test_a_retired_device_ends_for_good(live_server: LiveServer, state: Path) -> None:
    join(live_server.url, state)
    Device.objects.update(token_hash="")
    with agent(state) as process:
        assert process.wait(PATIENCE_S) == 4
    assert "token_invalid" in (state / "log").read_text()


def test_a_code_is_valid_for_one_device(live_server: LiveServer, state: Path) -> None:
    join(live_server.url, state)
    command = agent_command(state, "join", "7K3M-Q9XA-T2VB-8DNE", "--hub", live_server.url)
    again = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert again.returncode == 2
    assert "leave" in again.stderr
    command[command.index(str(state))] = str(state.with_name("other"))
    other = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert other.returncode == 4
    assert "code_not_found" in other.stderr
    # The key waits for another code.
    assert (state.with_name("other") / "device.key").exists()
