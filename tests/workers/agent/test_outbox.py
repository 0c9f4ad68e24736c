"""Requests of a device arrive in order, as soon as the hub answers."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hpcfair.retry import Retry
from tests.workers.agent.conftest import TOKEN, make_ticket
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub, problem, value
from workers.agent import outbox as module
from workers.agent.connection import HubConnection
from workers.agent.heartbeat import HeldJob
from workers.agent.journal import Journal
from workers.agent.outbox import Outbox
from workers.agent.stop import Stop
from workers.device.errors import HubError
from workers.engine.errors import Cancelled, LeaseLost

HELD = HeldJob("0b8e5c1a", 3, 90.0)


@pytest.fixture(autouse=True)
def retries_are_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(base_s=0.02, cap_s=0.02))


@pytest.fixture
def outbox(hub: ScriptedHub, journal: Journal, stop: Stop) -> Iterator[Outbox]:
    journal.begin(make_ticket())
    with HubConnection(hub.url, TOKEN) as connection:
        yield Outbox(connection, journal, stop, HELD, stop.check)


def failing(times: int, answer: Answer) -> Callable[[Request], Answer]:
    """A hub that gives ``answer`` a number of times, and then the right one."""
    left = [answer] * times
    return lambda request: left.pop() if left else value(request)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        problem(503, "storage_unavailable"),
        problem(500, "internal_error"),
        problem(429, "rate_limited"),
        (502, b"<html>a proxy</html>"),
        (200, b"<html>another proxy</html>"),
    ],
    ids=["none", "503", "500", "429", "502", "html"],
)
def test_failed_requests_are_repeated(hub: ScriptedHub, outbox: Outbox, answer: Answer) -> None:
    hub.answer = failing(3, answer)
    assert outbox.write("record_add", {"document": {}}, needs_answer=True) == {}
    bodies = [request.body for request in hub.requests]
    assert bodies == [{"fence": 3, "number": 1, "columns": {"document": {}}}] * 4


def test_work_goes_on_while_the_hub_is_away(
    hub: ScriptedHub, outbox: Outbox, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(base_s=60, cap_s=60, jitter=lambda: 1.0))
    hub.answer = lambda _: None
    for number in range(50):
        outbox.write("trial_add", {"trial": {"number": number}}, needs_answer=False)
    outbox.hint("progress", {"done": 1})
    assert len(hub.requests) == 1
    assert outbox.is_away
    assert len(journal.unsent()) == 50


def test_all_writes_are_sent_in_order_before_a_read(
    hub: ScriptedHub, outbox: Outbox, journal: Journal
) -> None:
    hub.answer = lambda _: None
    for text in "abc":
        outbox.write("note", {"message": text}, needs_answer=False)
    hub.answer, hub.requests[:] = (lambda _: (200, {"value": [1]})), []
    assert outbox.read("trials_of_job", {}) == [1]
    assert hub.paths() == [
        *["jobs/0b8e5c1a/write/note"] * 3,
        "jobs/0b8e5c1a/read/trials_of_job",
    ]
    assert [request.body["columns"]["message"] for request in hub.requests[:3]] == list("abc")
    assert journal.unsent() == []


def test_a_repeated_write_keeps_its_number_and_body(hub: ScriptedHub, outbox: Outbox) -> None:
    # The hub has performed it, and its answer is lost.
    hub.answer = failing(1, None)
    outbox.write("record_add", {"document": {"a": 1}}, needs_answer=True)
    first, second = hub.requests
    assert first.content == second.content


@pytest.mark.parametrize("code", ["lease_lost", "job_not_found"])
def test_a_lost_job_ends_the_work(hub: ScriptedHub, outbox: Outbox, code: str) -> None:
    hub.answer = lambda _: problem(409 if code == "lease_lost" else 404, code)
    with pytest.raises(LeaseLost):
        outbox.write("note", {"message": "x"}, needs_answer=False)
    with pytest.raises(LeaseLost):
        outbox.read("trials_of_job", {})
    with pytest.raises(LeaseLost):
        outbox.hint("progress", {})


@pytest.mark.parametrize(("status", "code"), [(401, "token_invalid"), (403, "device_quarantined")])
def test_a_refused_device_ends_its_work(
    hub: ScriptedHub, outbox: Outbox, status: int, code: str
) -> None:
    hub.answer = lambda _: problem(status, code)
    with pytest.raises(LeaseLost, match="accepts this device") as refusal:
        outbox.read("trials_of_job", {})
    assert TOKEN not in str(refusal.value)


def test_a_refused_write_does_not_block_the_next(
    hub: ScriptedHub, outbox: Outbox, journal: Journal
) -> None:
    hub.answer = lambda _: problem(400, "invalid_request")
    with pytest.raises(HubError) as refusal:
        outbox.write("note", {"message": ""}, needs_answer=False)
    assert refusal.value.code == "invalid_request"
    assert journal.unsent() == []


def test_a_request_that_always_fails_at_the_hub_is_given_up(
    hub: ScriptedHub, outbox: Outbox
) -> None:
    hub.answer = lambda _: problem(500, "internal_error")
    with pytest.raises(HubError):
        outbox.read("history", {"search_key": "c" * 64})
    assert len(hub.requests) == 5


def test_an_agent_that_ends_does_not_wait_for_a_hub_that_is_away(
    hub: ScriptedHub, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RETRY", Retry(base_s=600, cap_s=600, jitter=lambda: 1.0))
    hub.answer = lambda _: None
    journal.begin(make_ticket())
    with Stop(drain_s=0) as stop, HubConnection(hub.url, TOKEN) as connection:
        outbox = Outbox(connection, journal, stop, HELD, stop.check)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM)).start()
        started_at = time.monotonic()
        with pytest.raises(Cancelled):
            outbox.read("trials_of_job", {})
    assert time.monotonic() - started_at < 30


def test_the_token_is_sent_in_the_header_only(hub: ScriptedHub, outbox: Outbox) -> None:
    outbox.read("trials_of_job", {})
    (request,) = hub.requests
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    rest: Any = {**request.headers, "authorization": ""}, request.path, request.content
    assert TOKEN not in repr(rest)
