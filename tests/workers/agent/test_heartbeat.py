"""Heartbeats continue during any job, and end with the agent."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.programs import needs
from tests.workers.agent.conftest import TOKEN, until
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub, problem
from workers.agent.enrolment import Enrolment
from workers.agent.heartbeat import Heartbeat, HeldJob
from workers.agent.heartbeat_main import HeartbeatProcess
from workers.engine.errors import Cancelled, LeaseLost

JOB = HeldJob("0b8e5c1a", 3, 90.0)
BUSY = "while True: pass"
# Holds the interpreter's lock: no other thread of this process runs.
BLOCKED_AGENT = """
import re, sys
from pathlib import Path
from workers.agent.enrolment import Enrolment
from workers.agent.heartbeat import Heartbeat, HeldJob
from workers.agent.heartbeat_main import HeartbeatProcess
with Heartbeat(Path(sys.argv[1])) as heartbeat:
    heartbeat.hold(HeldJob("0b8e5c1a", 3, 90.0))
    re.match(r"(a+)+$", "a" * 60 + "b")
"""


def renewal(*, lost: bool = False, cancel: bool = False) -> Callable[[Request], Answer]:
    def answer(request: Request) -> Answer:
        flags = {"lease_s": 90.0, "lost": lost, "cancel": cancel}
        jobs = [{**job, **flags} for job in request.body["jobs"]]
        return 200, {"jobs": jobs, "state": "active"}

    return answer


@pytest.fixture
def heartbeat(hub: ScriptedHub, state: Path) -> Iterator[Heartbeat]:
    hub.answer = renewal()
    with Heartbeat(state) as running:
        yield running


def jobs_of(hub: ScriptedHub) -> list[list[dict[str, object]]]:
    return [request.body["jobs"] for request in hub.requests]


def test_heartbeats_name_the_held_job(hub: ScriptedHub, heartbeat: Heartbeat) -> None:
    until(lambda: hub.requests)
    assert jobs_of(hub)[0] == []
    heartbeat.hold(JOB)
    until(lambda: jobs_of(hub)[-1] == [{"job": "0b8e5c1a", "fence": 3}])
    heartbeat.check()
    heartbeat.release()
    until(lambda: jobs_of(hub)[-1] == [])
    assert set(hub.paths()) == {"heartbeat"}


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (renewal(lost=True), LeaseLost),
        (renewal(cancel=True), Cancelled),
        (lambda _: problem(403, "device_quarantined"), LeaseLost),
        (lambda _: problem(401, "token_invalid"), LeaseLost),
    ],
    ids=["lost", "cancelled", "quarantined", "retired"],
)
def test_the_work_is_told_of_a_lost_or_cancelled_job(
    hub: ScriptedHub,
    heartbeat: Heartbeat,
    answer: Callable[[Request], Answer],
    error: type[Exception],
) -> None:
    heartbeat.hold(JOB)
    hub.answer = answer

    def has_ended() -> bool:
        try:
            heartbeat.check()
        except error:
            return True
        return False

    until(has_ended)
    # The next job starts anew.
    hub.answer = renewal()
    heartbeat.hold(HeldJob("1c9f", 1, 90.0))
    heartbeat.check()


def test_work_goes_on_while_the_hub_is_away_and_ends_after_four_leases(
    hub: ScriptedHub, heartbeat: Heartbeat
) -> None:
    hub.answer = lambda _: None
    held_at = time.monotonic()
    heartbeat.hold(HeldJob("0b8e5c1a", 3, lease_s=0.5))

    def is_given_up() -> bool:
        try:
            heartbeat.check()
        except LeaseLost as error:
            return "has not answered" in str(error)
        return False

    until(is_given_up)
    assert time.monotonic() - held_at > 4 * 0.5


def test_a_heartbeat_process_that_dies_is_replaced(hub: ScriptedHub, heartbeat: Heartbeat) -> None:
    heartbeat.hold(JOB)
    until(lambda: jobs_of(hub)[-1:] == [[{"job": "0b8e5c1a", "fence": 3}]])
    (pid,) = children_of(os.getpid())
    os.kill(pid, signal.SIGKILL)
    until(lambda: not Path(f"/proc/{pid}/cmdline").read_bytes())
    count = len(hub.requests)
    heartbeat.check()
    until(lambda: len(hub.requests) > count)
    until(lambda: jobs_of(hub)[-1] == [{"job": "0b8e5c1a", "fence": 3}])


def test_signals_of_the_agent_do_not_stop_heartbeats(
    hub: ScriptedHub, heartbeat: Heartbeat
) -> None:
    until(lambda: hub.requests)
    (pid,) = children_of(os.getpid())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(pid, number)
    count = len(hub.requests)
    until(lambda: len(hub.requests) > count + 2)
    heartbeat.check()


def test_the_token_is_in_no_command_line_and_no_environment(
    hub: ScriptedHub, heartbeat: Heartbeat
) -> None:
    until(lambda: hub.requests)
    heartbeat.check()
    (pid,) = children_of(os.getpid())
    process = Path(f"/proc/{pid}")
    assert TOKEN.encode() not in (process / "cmdline").read_bytes()
    assert TOKEN.encode() not in (process / "environ").read_bytes()


def test_the_last_heartbeat_is_stored_for_people(
    hub: ScriptedHub, heartbeat: Heartbeat, state: Path
) -> None:
    heartbeat.hold(JOB)
    path = state / "heartbeat.json"
    until(lambda: path.exists() and json.loads(path.read_text())["jobs"] == ["0b8e5c1a"])
    beat = json.loads(path.read_text())
    assert (beat["state"], beat["error"]) == ("active", "")
    hub.answer = lambda _: problem(503, "hub_unavailable")
    until(lambda: json.loads(path.read_text())["error"] == "hub_unavailable")


@pytest.mark.slow
@needs("linux")
def test_heartbeats_continue_on_a_busy_machine_with_a_blocked_agent(
    hub: ScriptedHub, state: Path
) -> None:
    hub.answer = renewal()
    busy = [
        subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(4 * (os.cpu_count() or 1))
    ]
    agent = subprocess.Popen([sys.executable, "-c", BLOCKED_AGENT, str(state)])
    try:
        until(lambda: hub.requests and jobs_of(hub)[-1])
        times = []
        for _ in range(15):
            count = len(hub.requests)
            until(lambda count=count: len(hub.requests) > count)
            times.append(time.monotonic())
    finally:
        for process in (agent, *busy):
            process.kill()
            process.wait()
    gaps = [after - before for before, after in pairwise(times)]
    # A tenth of a second between heartbeats; the leases of jobs are of 90 s.
    assert max(gaps) < 10, gaps


@pytest.mark.slow
@needs("linux")
def test_a_killed_agent_falls_silent(hub: ScriptedHub, state: Path) -> None:
    hub.answer = renewal()
    agent = subprocess.Popen([sys.executable, "-c", BLOCKED_AGENT, str(state)])
    until(lambda: hub.requests and jobs_of(hub)[-1])
    (pid,) = children_of(agent.pid)
    agent.kill()
    agent.wait()
    until(
        lambda: not Path(f"/proc/{pid}").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
    )


def children_of(pid: int) -> list[int]:
    """Heartbeat processes that a process has started."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [
        int(child)
        for child in listed
        if b"heartbeat_main" in Path(f"/proc/{child}/cmdline").read_bytes()
    ]


def test_without_a_job_there_are_half_as_many_heartbeats(state: Path) -> None:
    process = HeartbeatProcess(state, Enrolment("http://hub", "bench-1", TOKEN, heartbeat_s=20.0))
    idle = [process._wait_s() for _ in range(50)]
    process._jobs = [{"job": JOB.job, "fence": JOB.fence}]
    busy = [process._wait_s() for _ in range(50)]
    assert 16 <= min(busy) <= max(busy) <= 20
    assert 32 <= min(idle) <= max(idle) <= 40
