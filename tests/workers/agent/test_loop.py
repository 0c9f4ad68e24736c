"""The loop of an agent, with a hub that answers as a test prescribes."""

import os
import signal
from dataclasses import asdict
from typing import Any

import pytest

from hpcfair.machine import describe, target_of
from hpcfair.retry import Retry
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub, problem
from workers.agent import loop as module
from workers.agent.claims import ClaimedJobs
from workers.agent.connection import HubConnection, Refused
from workers.agent.heartbeat import Heartbeat
from workers.agent.loop import AgentLoop, AgentOptions
from workers.agent.slurm import Allocation
from workers.agent.stop import Stop
from workers.engine.errors import CandidateFailed


@pytest.fixture(autouse=True)
def waits_are_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(base_s=0.02, cap_s=0.02))


@pytest.fixture
def loop(
    connection: HubConnection, jobs: ClaimedJobs, heartbeat: Heartbeat, stop: Stop
) -> AgentLoop:
    return AgentLoop(connection, jobs, heartbeat, stop, AgentOptions(poll_s=0.02))


def claims_answered(*answers: Answer) -> Any:
    """A hub that gives these answers to claims, the last one forever."""
    left = list(answers)

    def answer(request: Request) -> Answer:
        if request.path == "hello":
            return 200, {"device": "bench-1", "target": asdict(target_of(describe()))}
        if request.path == "claim":
            return left.pop(0) if len(left) > 1 else left[0]
        return 200, {"jobs": [], "state": "active"}

    return answer


CHECK = {"job": None, "wait_s": 0, "reason": "health check", "check": {"seed": 1}}
REFUSAL = problem(401, "token_invalid")


def test_a_health_check_does_not_delay_the_end(
    hub: ScriptedHub, loop: AgentLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def solve(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("not interrupted")

    hub.answer = claims_answered((200, CHECK))
    monkeypatch.setattr(module, "solve", solve)
    loop.run()
    assert "check" not in hub.paths()


def test_a_health_check_that_failed_is_repeated(
    hub: ScriptedHub, loop: AgentLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved: list[Any] = [CandidateFailed("infrastructure", "no memory"), ({"a": [1]}, [])]

    def solve(*_: object) -> Any:
        result = solved.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    hub.answer = claims_answered((200, CHECK), (200, CHECK), REFUSAL)
    monkeypatch.setattr(module, "solve", solve)
    with pytest.raises(Refused, match="token_invalid"):
        loop.run()
    (check,) = (request for request in hub.requests if request.path == "check")
    assert check.body == {"seed": 1, "outputs": {"a": [1]}}


def test_a_device_in_quarantine_waits_for_its_operator(hub: ScriptedHub, loop: AgentLoop) -> None:
    quarantined = problem(403, "device_quarantined")
    hub.answer = claims_answered(quarantined, problem(503, "hub_unavailable"), None, REFUSAL)
    with pytest.raises(Refused, match="token_invalid"):
        loop.run()
    assert hub.paths().count("claim") == 4


def test_an_allocation_that_loses_its_end_is_followed(
    connection: HubConnection,
    jobs: ClaimedJobs,
    heartbeat: Heartbeat,
    hub: ScriptedHub,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allocations = [Allocation("7", None, 0.0)]
    monkeypatch.setattr(Allocation, "read", lambda: allocations[0])
    hub.answer = claims_answered(REFUSAL)
    with Stop(drain_s=30, ends_in_s=600) as stop:
        ending = Allocation("7", 0.0, 0.0)
        options = AgentOptions(poll_s=0.02)
        with pytest.raises(Refused):
            AgentLoop(connection, jobs, heartbeat, stop, options, ending).run()
        assert stop.available_s is None
