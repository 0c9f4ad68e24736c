"""Stored results of reads over all rows."""

import json
import os
import threading
from pathlib import Path

import pytest
from django.db import connection

from registry.search import digests, scale
from registry.search.digests import digest
from tests.registry.search import rows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("data_dir")]


def settled() -> None:
    """Wait for the threads that compute."""
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and thread.name.startswith("digest"):
            thread.join(30)


def test_a_small_hub_computes_every_time(data_dir: Path) -> None:
    values = iter([1, 2])
    assert [digest("n", lambda: next(values)) for _ in range(2)] == [1, 2]
    assert not list(data_dir.rglob("digest-*"))


def test_a_large_hub_answers_with_what_is_stored(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.mlmodel("lab/a")
    monkeypatch.setattr(scale, "SMALL", 0)
    values = iter([[1], [2]])
    assert digest("n", lambda: next(values)) is None
    settled()
    assert digest("n", lambda: next(values)) == [1]
    path = data_dir / "index" / "digest-n.json"
    os.utime(path, (0, 0))
    assert digest("n", lambda: next(values)) == [1]
    settled()
    assert digest("n", lambda: next(values)) == [2]


def test_a_damaged_file_or_failure_costs_the_result_only(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows.mlmodel("lab/a")
    monkeypatch.setattr(scale, "SMALL", 0)
    path = data_dir / "index" / "digest-n.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{")

    def fail() -> int:
        raise OSError

    assert digest("n", fail) is None
    settled()
    assert not digests._running
    assert digest("n", lambda: 3) is None
    settled()
    assert json.loads(path.read_bytes()) == 3


def test_it_may_take_longer_than_a_query_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    rows.mlmodel("lab/a")
    monkeypatch.setattr(scale, "SMALL", 0)

    def limit() -> str:
        if connection.vendor != "postgresql":
            return "0"
        with connection.cursor() as cursor:
            cursor.execute("SHOW statement_timeout")
            return str(cursor.fetchone()[0])

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET statement_timeout = 5000")
    digest("n", limit)
    settled()
    assert digest("n", limit) == "0"
