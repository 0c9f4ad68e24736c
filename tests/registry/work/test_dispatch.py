"""Wake-up notifications arrive on the right queue and never delay or fail the sender."""

import json
import logging
import math
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from django.db import transaction

from hub import broker
from registry.dispatch import CHUNK, DELIVER, notify_deliveries
from registry.services.work.job import job_submit
from registry.states import JobKind, JobState
from registry.tables import Job, User
from tests.factories import make_mlmodel
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def valkey(tmp_path: Path, settings: Any) -> Iterator[redis.Redis]:
    """A real server for this test alone, which the hub sends to."""
    path = tmp_path / "valkey.sock"
    settings.REDIS_URL = f"redis+socket://{path}"
    with running(path), redis.Redis(unix_socket_path=str(path)) as client:
        yield client


@contextmanager
def running(path: Path) -> Iterator[None]:
    server = subprocess.Popen(broker.command(path))
    try:
        deadline = time.monotonic() + 120
        while not broker.answers(path):
            assert time.monotonic() < deadline, "the broker does not start"
            time.sleep(0.02)
        yield
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def mute() -> Iterator[str]:
    """The address of a broker that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        stop = threading.Event()
        held = []

        def accept() -> None:
            listener.settimeout(0.05)
            while not stop.is_set():
                try:
                    held.append(listener.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        stop.set()
        thread.join()
        for connection in held:
            connection.close()


def messages(valkey: redis.Redis, queue: str) -> list[dict[str, Any]]:
    return [json.loads(message) for message in valkey.lrange(queue, 0, -1)]


def test_a_notification_names_its_task_and_job_on_the_queue_of_its_workers(
    valkey: redis.Redis,
) -> None:
    floor = shopfloor.floor()
    tune = floor.tune()
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    for queue, job, task in [
        (f"target.{shopfloor.SLUG}", tune, "workers.tasks.tune"),
        ("hub", inspection, "workers.tasks.inspect"),
    ]:
        (message,) = messages(valkey, queue)
        assert message["headers"]["task"] == task
        assert message["headers"]["expires"] is not None
        assert message["content-type"] == "application/json"
        assert str(job.uuid) in message["headers"]["kwargsrepr"]


def test_workers_are_notified_of_deliveries_once_these_are_committed(valkey: redis.Redis) -> None:
    with transaction.atomic():
        notify_deliveries()
        assert messages(valkey, "hub") == []
    (message,) = messages(valkey, "hub")
    assert message["headers"]["task"] == DELIVER


def test_workers_are_notified_of_large_files_that_are_committed(
    valkey: redis.Redis, alice: User
) -> None:
    make_mlmodel("alice/net", files={"README.md": "# A"}, actor=alice)
    tasks = [message["headers"]["task"] for message in messages(valkey, "hub")]
    assert CHUNK not in tasks
    make_mlmodel("alice/large", files={"weights.bin": b"weights"}, actor=alice)
    tasks = [message["headers"]["task"] for message in messages(valkey, "hub")]
    assert tasks.count(CHUNK) == 1


def test_nothing_is_sent_for_work_that_was_never_committed(valkey: redis.Redis) -> None:
    floor = shopfloor.floor()
    with transaction.atomic():
        floor.tune()
        assert messages(valkey, f"target.{shopfloor.SLUG}") == []
        transaction.set_rollback(True)
    assert messages(valkey, f"target.{shopfloor.SLUG}") == []
    assert not Job.objects.exists()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, float]]:
    """The calls of sockets that may wait, each with the most seconds it may take.

    Seconds by the clock would say how busy this machine is.
    """
    calls: list[tuple[str, float]] = []

    def counted(name: str) -> Callable[..., Any]:
        call = getattr(socket.socket, name)

        def wrapper(self: socket.socket, *arguments: Any) -> Any:
            limit_s = self.gettimeout()
            calls.append((name, math.inf if limit_s is None else limit_s))
            return call(self, *arguments)

        return wrapper

    for name in ("connect", "sendall", "recv"):
        monkeypatch.setattr(socket.socket, name, counted(name))
    return calls


def submit_patiently(caplog: pytest.LogCaptureFixture) -> None:
    """Submit a job whose notification cannot be sent, and check that it is queued."""
    floor = shopfloor.floor()
    with caplog.at_level(logging.WARNING, logger="registry.dispatch"):
        job = floor.tune()
    job.refresh_from_db()
    assert job.state == JobState.QUEUED
    assert f"no notification of job {job.uuid}" in caplog.text


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1/0", "redis+socket:///nowhere/valkey.sock"])
def test_a_broker_that_is_away_neither_fails_nor_delays(
    url: str, settings: Any, caplog: pytest.LogCaptureFixture, waits: list[tuple[str, float]]
) -> None:
    settings.REDIS_URL = url
    submit_patiently(caplog)
    # Refused at once, and not tried again.
    assert [name for name, _ in waits] == ["connect"]


def test_a_broker_that_says_nothing_delays_little(
    mute: str,
    settings: Any,
    caplog: pytest.LogCaptureFixture,
    waits: list[tuple[str, float]],
) -> None:
    settings.REDIS_URL = mute
    submit_patiently(caplog)
    assert [name for name, _ in waits].count("connect") == 1
    assert sum(limit_s for _, limit_s in waits) <= 3


def test_a_broken_address_does_not_fail_either(
    settings: Any, caplog: pytest.LogCaptureFixture, waits: list[tuple[str, float]]
) -> None:
    settings.REDIS_URL = "carrier-pigeon://loft"
    submit_patiently(caplog)
    assert waits == []


def test_a_broker_that_comes_back_gets_messages_again(
    tmp_path: Path, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "valkey.sock"
    settings.REDIS_URL = f"redis+socket://{path}"
    with running(path):
        shopfloor.floor("bob/before").tune()
    submit_patiently(caplog)
    with running(path), redis.Redis(unix_socket_path=str(path)) as client:
        shopfloor.floor("bob/after").tune()
        assert len(messages(client, f"target.{shopfloor.SLUG}")) == 1
