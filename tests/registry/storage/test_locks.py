"""Locks between processes, of one host and of several."""

import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from registry.services.storage.locks import attempt, exclusive

pytestmark = pytest.mark.django_db(transaction=True)


def _in_a_thread(work: "threading.Thread") -> None:
    work.start()
    work.join(timeout=60)
    assert not work.is_alive()


def test_a_lock_is_held_once(data_dir: Path) -> None:
    outcomes: list[bool] = []

    def other(name: str) -> None:
        try:
            with attempt(name) as locked:
                outcomes.append(locked)
        finally:
            connection.close()

    with attempt("one") as locked:
        assert locked
        for name in ("one", "two"):
            _in_a_thread(threading.Thread(target=other, args=(name,)))
    _in_a_thread(threading.Thread(target=other, args=("one",)))
    assert outcomes == [False, True, True]


def test_the_next_one_waits(data_dir: Path) -> None:
    events: list[str] = []
    started = threading.Event()

    def other() -> None:
        try:
            started.set()
            with exclusive("one"):
                events.append("other")
        finally:
            connection.close()

    thread = threading.Thread(target=other)
    with exclusive("one"):
        thread.start()
        started.wait(60)
        time.sleep(0.5)
        events.append("first")
    thread.join(60)
    assert events == ["first", "other"]


def test_an_error_frees_the_lock(data_dir: Path) -> None:
    with pytest.raises(ZeroDivisionError), exclusive("one"):
        _ = 1 / 0
    with attempt("one") as locked:
        assert locked
