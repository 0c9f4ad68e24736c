"""Output of ``hpcfair-agent``: one line and an exit status."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.workers.agent.conftest import TOKEN, make_ticket
from tests.workers.agent.devices import PATIENCE_S, agent_command
from tests.workers.agent.scriptedhub import ScriptedHub, problem
from workers.agent.cli import app
from workers.agent.enrolment import Enrolment
from workers.agent.journal import Journal
from workers.agent.statefolder import locked

pytestmark = pytest.mark.slow


def run(state: Path, *arguments: str, **options: str) -> subprocess.CompletedProcess[str]:
    command = agent_command(state, *arguments)
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=PATIENCE_S, **options
    )


def test_status_shows_unsent_writes(state: Path) -> None:
    with Journal(state) as journal:
        journal.begin(make_ticket())
        journal.add("note", {"message": "x"})
    with locked(state):
        done = run(state, "status", "--json")
    document = json.loads(done.stdout)
    assert document["device"] == "bench-1"
    assert document["is_running"]
    assert (document["kind"], document["unsent_writes"]) == ("tune", 1)
    assert TOKEN not in done.stdout + done.stderr


@pytest.mark.parametrize("command", ["run", "status", "leave"])
def test_a_machine_that_has_not_joined_gets_instructions(tmp_path: Path, command: str) -> None:
    done = run(tmp_path, command)
    assert done.returncode == 2
    assert "hpcfair-agent join" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_two_agents_cannot_share_a_state_folder(state: Path) -> None:
    with locked(state):
        done = run(state, "run")
    assert done.returncode == 2
    assert "stop it first" in done.stderr


def test_no_token_is_requested_without_encryption(tmp_path: Path) -> None:
    done = run(tmp_path, "join", "CODE", "--hub", "http://hub.example.org")
    assert done.returncode == 2
    assert "https://" in done.stderr


def test_a_hub_that_does_not_answer_has_a_status_of_its_own(tmp_path: Path) -> None:
    done = run(tmp_path, "join", "CODE", "--hub", "http://127.0.0.1:9")
    assert done.returncode == 5
    done = run(tmp_path, "status")
    assert done.returncode == 2


def test_commands_that_do_no_job_do_not_wait_for_what_does_jobs() -> None:
    program = "import sys, workers.agent.cli; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    heavy = {"optuna", "workers.agent.service", "workers.backends.registry", "workers.device.kinds"}
    assert not heavy & set(done.stdout.split())


def test_a_code_can_come_from_standard_input(hub: ScriptedHub, tmp_path: Path) -> None:
    enrolled = {"device": "bench-1", "token": TOKEN, "heartbeat_s": 20.0, "poll_s": 10.0}
    hub.answer = lambda _: (201, {**enrolled, "hub_key": ""})
    state = tmp_path / "state"
    done = run(state, "join", "-", "--hub", hub.url, input="THE-CODE\n")
    assert done.returncode == 0, done.stderr
    (request,) = hub.requests
    assert request.path == "enrol"
    assert request.body["code"] == "THE-CODE"
    assert request.body["public_key"].startswith("-----BEGIN PUBLIC KEY-----")
    assert Enrolment.read(state).token == TOKEN
    assert TOKEN not in done.stdout + done.stderr


def test_results_and_errors_are_documents_for_programs(hub: ScriptedHub, tmp_path: Path) -> None:
    enrolled = {"device": "bench-1", "token": TOKEN, "heartbeat_s": 20.0, "poll_s": 10.0}
    hub.answer = lambda _: (201, {**enrolled, "hub_key": ""})
    words = ["--state", str(tmp_path)]

    def document(*command: str, status: int = 0) -> Any:
        result = CliRunner().invoke(app, [*words, *command, "--json"])
        assert result.exit_code == status, result.output
        return json.loads(result.stdout)

    error = document("status", status=2)["error"]
    assert (error["code"], error["exit_status"]) == ("not_enrolled", 2)
    assert document("join", status=2)["error"]["code"] == "usage"
    joined = document("join", "THE-CODE", "--hub", hub.url)
    assert joined == {"device": "bench-1", "hub": hub.url}
    hub.answer = lambda _: problem(503, "hub_unavailable")
    assert document("leave", status=5)["error"]["code"] == "hub_unavailable"
    hub.answer = lambda _: (200, {})
    assert document("leave") == joined


def test_leaving_needs_the_hub_or_force(hub: ScriptedHub, state: Path) -> None:
    hub.answer = lambda _: problem(503, "hub_unavailable")
    assert run(state, "leave").returncode == 5
    assert (state / "device.json").exists()
    assert run(state, "leave", "--force").returncode == 0
    assert not (state / "device.json").exists()


def test_an_allocation_is_needed_for_slurm(state: Path) -> None:
    done = run(state, "run", "--slurm")
    assert done.returncode == 2
    assert "SLURM_JOB_ID" in done.stderr


def test_an_idle_agent_ends_after_its_limit(hub: ScriptedHub, state: Path) -> None:
    hub.answer = lambda _: problem(503, "hub_unavailable")
    command = agent_command(state, "run")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        log = ""
        while "hello" not in hub.paths():
            assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGTERM)
        log = process.stderr.read()
    assert process.returncode == 0, log
    assert TOKEN not in log
