"""The parts of the fleet benchmark that need no fleet: schedules, kills, signatures."""

import json
import os
import random
import signal
import subprocess
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from benchmarks.fleet_client import AgentClient, Refused
from benchmarks.fleet_kills import Killer, spread_out, turns
from benchmarks.fleet_run import is_due


@pytest.mark.parametrize(("count", "steps"), [(0, 5), (3, 7), (7, 7), (1, 100)])
def test_events_are_spread_over_the_steps(count: int, steps: int) -> None:
    assert sum(is_due(number, count, steps) for number in range(steps)) == count


def test_numbers_come_at_once_if_there_is_no_time() -> None:
    assert list(spread_out(4, 0.0)) == [0, 1, 2, 3]


def test_the_first_event_is_at_the_beginning() -> None:
    assert [number for number in range(7) if is_due(number, 3, 7)] == [0, 3, 5]


@pytest.mark.parametrize("count", [1, 5, 30, 500])
def test_each_role_has_its_share_of_the_kills(count: int) -> None:
    roles = Counter(turns(count, random.Random(2)))  # noqa: S311
    assert roles.total() == count
    if count >= 30:
        assert roles.keys() == {"agent", "hub", "beat", "inspector", "tuner", "child"}
        assert roles["agent"] > count / 2


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A process in a group of its own."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    process = subprocess.Popen(command, process_group=0)
    yield process
    process.kill()
    process.wait(timeout=60)


def killer(folder: Path, group: int, *roles: str) -> Killer:
    """A killer of a fleet without a hub: the leader of this group has no child processes."""
    return Killer(group, folder, group, list(roles), random.Random(1))  # noqa: S311


def test_a_kill_ends_a_process_and_is_counted(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "agent-0001").write_text(str(sleeper.pid))
    # Without a server its turn is passed over.
    fleet = killer(tmp_path, sleeper.pid, "hub", "agent")
    fleet.kill_one()
    assert sleeper.wait(timeout=60) == -signal.SIGKILL
    assert fleet.kills == {"agent": 1}
    assert fleet.turns == ["hub"]
    assert [name for name, _ in fleet.holders] == ["agent-0001"]


def test_the_remaining_turns_are_those_of_agents(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "agent-0001").write_text(str(sleeper.pid))
    fleet = killer(tmp_path, sleeper.pid, "hub")
    fleet.kill_one()
    assert fleet.kills == {"agent": 1}


def test_a_process_of_another_group_is_not_killed(
    sleeper: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    (tmp_path / "agent-0001").write_text(str(os.getpid()))
    fleet = killer(tmp_path, sleeper.pid, "agent")
    fleet.kill_one()
    assert not fleet.kills


def test_a_process_that_has_ended_is_not_counted(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=60)
    (tmp_path / "agent-0001").write_text(str(process.pid))
    fleet = killer(tmp_path, process.pid, "agent")
    fleet.kill_one()
    assert not fleet.kills


def test_ends_are_signed_and_requests_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    client = AgentClient("http://127.0.0.1:9", "hpd_token", Ed25519PrivateKey.generate())
    requests: list[Any] = []
    answers = iter([(503, {}), (200, {"is_late": False})])

    def send(*request: Any) -> Any:
        requests.append(request)
        return next(answers)

    monkeypatch.setattr(client, "_send", send)
    assert client.end("a job", 3, "succeeded", {"summary": "ü"}) == {"is_late": False}
    assert len(requests) == 2
    assert requests[0] == requests[1]
    body = json.loads(requests[0][2])
    key = load_pem_public_key(client.public_key.encode())
    statement = '{"fence":3,"job":"a job","outcome":"succeeded","result":{"summary":"ü"}}'
    key.verify(b64decode(body["signature"]), statement.encode())  # type: ignore[union-attr,call-arg]


def test_a_refusal_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    client = AgentClient("http://127.0.0.1:9", "hpd_token", Ed25519PrivateKey.generate())
    monkeypatch.setattr(client, "_send", lambda *_: (409, {"code": "lease_lost"}))
    with pytest.raises(Refused) as caught:
        client.post("heartbeat", jobs=[])
    assert (caught.value.status, caught.value.code) == (409, "lease_lost")
