"""The cast of tests of the agent: a scripted hub, a state folder, tickets."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from tests.workers.agent.scriptedhub import ScriptedHub, scripted_hub
from workers.agent.claims import ClaimedJobs
from workers.agent.connection import HubConnection
from workers.agent.devicekey import DeviceKey
from workers.agent.enrolment import Enrolment
from workers.agent.files import FileStore
from workers.agent.heartbeat import Heartbeat
from workers.agent.journal import Journal
from workers.agent.stop import Stop
from workers.device.ports import DeviceSettings

TOKEN = "hpd_a-token-that-nobody-may-see"


@pytest.fixture
def hub() -> Iterator[ScriptedHub]:
    with scripted_hub() as server:
        yield server


@pytest.fixture
def state(tmp_path: Path, hub: ScriptedHub) -> Path:
    """The state folder of a device that has joined the scripted hub."""
    folder = tmp_path / "state"
    Enrolment(hub.url, "bench-1", TOKEN, heartbeat_s=0.1, poll_s=0.1).write(folder)
    return folder


@pytest.fixture
def journal(state: Path) -> Iterator[Journal]:
    with Journal(state) as opened:
        yield opened


@pytest.fixture
def stop() -> Iterator[Stop]:
    with Stop(drain_s=30) as opened:
        yield opened


@pytest.fixture
def connection(hub: ScriptedHub) -> Iterator[HubConnection]:
    with HubConnection(hub.url, TOKEN) as opened:
        yield opened


@pytest.fixture
def heartbeat(state: Path) -> Iterator[Heartbeat]:
    with Heartbeat(state) as running:
        yield running


@pytest.fixture
def jobs(
    connection: HubConnection, state: Path, journal: Journal, heartbeat: Heartbeat, stop: Stop
) -> ClaimedJobs:
    """The jobs of a device that has joined the scripted hub."""
    settings = DeviceSettings(state / "work", 2**32)
    key, store = DeviceKey.in_folder(state), FileStore(state / "cache", 2**30)
    return ClaimedJobs(connection, key, journal, store, heartbeat, stop, settings)


def until(condition: Callable[[], object], seconds: float = 300.0) -> None:
    """Wait for a condition."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


def make_ticket(**members: Any) -> dict[str, Any]:
    """A ticket of a search, as JSON."""
    ticket = JobTicket(
        job_uuid="0b8e5c1a-8f5e-4b77-9a3b-2f4d4c1f0e11",
        kind="tune",
        attempt=1,
        fence=3,
        lease_s=90.0,
        mlmodel="alice/net",
        revision_oid="0" * 40,
        target="x86-64-avx2",
        device="bench-1",
        parameters={},
        files=(),
        graph=None,
    )
    document: dict[str, Any] = json.loads(json.dumps(asdict(ticket)))
    return document | members
