"""An agent that works for a device which only runs TVM's RPC server."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from hpcfair.machine import describe, target_of
from registry.states import JobState
from registry.tables import Build, Device, Job, Record, User
from tests.programs import needs
from tests.workers.agent.conftest import TOKEN
from tests.workers.agent.devices import (
    PATIENCE_S,
    agent,
    agent_command,
    join,
    queued_search,
    until,
)
from tests.workers.backends.rpcprograms import free_port, program
from workers.agent.board import Board, BoardInvalid, BoardOptions, server_of
from workers.agent.enrolment import Enrolment
from workers.agent.tunnel import TunnelFailed
from workers.device.kinds import kinds_of
from workers.device.ports import BuildServer, DeviceSettings, JobDevice

BOARD = {
    "architecture": "arm64",
    "features": ["asimd"],
    "cores": 2,
    "logical_cpus": 2,
    "memory_bytes": 2**28,
    "processor": "Cortex-A35",
    "os": "Linux",
    "kernel": "6.1.0",
}


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps(BOARD))
    return path


def test_the_facts_are_those_of_the_file(facts: Path, tmp_path: Path) -> None:
    Board.read(facts).store(tmp_path)
    board = Board.of_state(tmp_path)
    assert board is not None
    unassigned = board.as_device()
    assert unassigned.spec.facts == BOARD
    assert unassigned.spec.architecture == "arm64"
    here = board.as_device(target_of(describe()), "board-1")
    assert (here.device, here.spec.slug) == ("board-1", target_of(describe()).slug)
    assert (here.spec.cores, here.spec.memory_bytes) == (2, 2**28)


def test_a_machine_without_the_file_is_its_own_device(tmp_path: Path) -> None:
    assert Board.of_state(tmp_path) is None
    with server_of(None, None) as server:
        assert server is None


@pytest.mark.parametrize("text", ["", "[]", "{", json.dumps({**BOARD, "cores": "two"}), "{}"])
def test_a_description_that_lacks_facts_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "facts.json"
    path.write_text(text)
    with pytest.raises(BoardInvalid, match=str(path)):
        Board.read(path)


def test_a_device_and_its_port_go_together(facts: Path) -> None:
    with pytest.raises(BoardInvalid, match="--rpc-port"), server_of(Board.read(facts), None):
        pass
    with pytest.raises(BoardInvalid, match="--facts"), server_of(None, BoardOptions(9090)):
        pass


def test_a_device_whose_builds_a_server_runs_does_no_other_jobs(tmp_path: Path) -> None:
    def opened(**_: object) -> JobDevice:
        raise AssertionError

    settings = DeviceSettings(tmp_path, 2**30, server=BuildServer("tvm", opened))
    assert kinds_of(settings) == ["reproduce", "tune"]
    assert settings.names() == ["tvm"]
    assert settings.names(["onnxruntime", "tvm"]) == ["tvm"]
    assert settings.names(["onnxruntime"]) == []
    every = DeviceSettings(tmp_path, 2**30)
    assert {"tune", "schedule", "run"} <= set(kinds_of(every))
    assert every.names() is None


@pytest.mark.slow
def test_an_agent_without_the_port_says_so(facts: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    Enrolment("http://127.0.0.1:9", "board-1", TOKEN).write(state)
    Board.read(facts).store(state)
    done = subprocess.run(
        agent_command(state, "run"), capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert "--rpc-port" in done.stderr


@needs("ssh")
def test_a_tunnel_that_does_not_open_ends_the_agent(facts: Path) -> None:
    options = BoardOptions(9090, tunnel="nobody@no-such-host.invalid")
    with pytest.raises(TunnelFailed), server_of(Board.read(facts), options):
        pass


@needs("cc")
@needs("tvm")
@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("data_dir")
def test_its_builds_run_on_the_server_and_are_compared_with_tvm_there(
    live_server: LiveServer, alice: User, tmp_path: Path, settings: Any
) -> None:
    settings.TUNE_BUDGET_S, settings.SCHEDULE_S, settings.PASSES_S = 3, 0, 0
    state, facts = tmp_path / "state", tmp_path / "facts.json"
    facts.write_text(json.dumps(describe().to_dict()))
    join(live_server.url, state, "--facts", str(facts))
    port = free_port()
    with program("rpc_server", port), agent(state, "--rpc-port", str(port)):
        until(lambda: Device.objects.filter(checked_at__isnull=False).exists())
        assert list(Device.objects.get().tools) == ["tvm"]
        job = queued_search(alice, backends=["tvm"], trials=2)
        until(lambda: Job.objects.get(pk=job.pk).state not in {"queued", "leased"})
    job.refresh_from_db()
    assert job.state == JobState.SUCCEEDED, job.failure_detail
    assert Build.objects.get(is_baseline=True, withdrawn_at=None).candidate["backend"] == "tvm"
    documents = [record.document for record in Record.objects.all()]
    assert documents
    assert {document["environment"]["sandbox"] for document in documents} == {"none"}
