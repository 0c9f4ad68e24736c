"""A simulated agent of the fleet benchmark does a job over HTTP, and its end counts once."""

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.utils import timezone
from pytest_django.live_server_helper import LiveServer

from benchmarks import fleet_outcome, fleet_rows
from benchmarks.fleet_agents import SimulatedAgent
from benchmarks.fleet_client import AgentClient, Refused
from registry.services.work.catchup import plan_catch_up
from registry.services.work.reaper import job_reap
from registry.states import JobState
from registry.tables import Device, Job, JobAttempt
from tests.registry.shopfloor import make_machine
from tests.registry.work.queue_killing import expire

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def submitted(db: None) -> str:
    """UUID of a waiting search on the target of simulated devices."""
    target = fleet_rows.make_target()
    (revision,) = fleet_rows.make_models(["alice/net"])
    return fleet_rows.submit(revision, target)


@pytest.fixture
def agent(live_server: LiveServer, submitted: str, data_dir: Path, tmp_path: Path) -> Any:
    """An agent that has joined, with a log in ``tmp_path``."""
    (name,) = fleet_rows.join(live_server.url, tmp_path, 1)
    fleet_rows.write_work(tmp_path, seconds=0.0, partition=0.0, duplicate=1.0)
    identity = json.loads((tmp_path / "identities.json").read_text())[name]
    key = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(identity["key"]))
    client = AgentClient(live_server.url, identity["token"], key)
    work = json.loads((tmp_path / "work.json").read_text())
    client.post("hello", facts=work["facts"], tools={}, agent_version="0", clock=None)
    log = os.open(tmp_path / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    yield SimulatedAgent(client, work, random.Random(1), log)  # noqa: S311
    os.close(log)
    client.close()


def test_a_job_is_done_once_although_its_end_is_sent_twice(
    agent: SimulatedAgent, submitted: str, tmp_path: Path
) -> None:
    offer = agent.client.claim()
    assert offer["job"]["job_uuid"] == submitted
    agent._do(offer["job"], offer["clock"])
    assert (tmp_path / "log").read_text().splitlines() == [
        f"succeeded {submitted} 1",
        "duplicate 200",
    ]
    assert Job.objects.get(uuid=submitted).state == JobState.SUCCEEDED
    result = fleet_outcome.outcome(tmp_path, [submitted], [])
    assert (result.lost, result.twice, result.acknowledged) == ([], [], 1)


def test_an_end_after_the_lease_is_late(
    agent: SimulatedAgent, submitted: str, tmp_path: Path
) -> None:
    offer = agent.client.claim()
    killed_at = timezone.now()
    expire()
    job_reap()
    again = agent.client.claim()
    agent._end(submitted, offer["job"]["fence"], is_late=True)
    assert (tmp_path / "log").read_text() == "late 200\n"
    with pytest.raises(Refused) as caught:
        agent._write(offer["job"], 1, "trial_add", trial=agent.work["trial"])
    assert caught.value.code == "lease_lost"
    assert [attempt.end for attempt in JobAttempt.objects.order_by("id")] == ["lost", ""]
    assert again["job"]["job_uuid"] == submitted
    assert Device.objects.get().state == "active"
    # It has not ended: the second attempt runs.
    kills = [("agent-0000", killed_at), ("agent-0001", killed_at), ("tuner", killed_at)]
    result = fleet_outcome.outcome(tmp_path, [submitted], kills)
    assert result.lost == [submitted]
    (recovered_s,) = result.recovered_s
    assert 0 < recovered_s < (timezone.now() - killed_at).total_seconds()


def test_jobs_that_failed_are_counted_by_their_reason(
    agent: SimulatedAgent, submitted: str, tmp_path: Path
) -> None:
    job = agent.client.claim()["job"]
    failure = {"class": "crash", "code": "internal_error", "detail": "It was tried."}
    agent.client.end(submitted, job["fence"], "failed", failure, key="failure")
    (tmp_path / "log").touch()
    result = fleet_outcome.outcome(tmp_path, [submitted], [])
    assert result.failures == {"internal_error": 1}
    assert result.lost == []


def test_real_workers_do_not_search_models_without_bytes(submitted: str) -> None:
    (target, _) = make_machine()
    assert plan_catch_up(target=target) == []
