"""Queries that end without a result: time limits of PostgreSQL, the write lock of SQLite."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import ConnectionHandler, OperationalError, connection, connections
from django.test import Client

from hub import checks
from hub.database import limit_statements
from registry.errors import Unavailable
from registry.selectors.repository import mlmodel
from tests.programs import needs

postgres = needs("postgresql")


def setting(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def too_slow(*_: object, **__: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '20ms'")
        cursor.execute("SELECT pg_sleep(60)")


@postgres
@pytest.mark.django_db
def test_queries_are_not_compiled_and_workers_have_no_limit() -> None:
    assert (setting("jit"), setting("statement_timeout")) == ("off", "0")


@postgres
@pytest.mark.django_db
def test_an_ended_query_is_an_outage_with_a_next_step() -> None:
    with pytest.raises(Unavailable) as raised:
        too_slow()
    assert raised.value.code == "query_timeout"
    assert "shorter page" in raised.value.hint


@postgres
@pytest.mark.django_db
def test_the_api_answers_503_and_when_to_try_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mlmodel, "named", too_slow)
    answer = client.get("/api/v1/models/lab/any")
    assert (answer.status_code, answer.json()["code"]) == (503, "query_timeout")
    assert answer["Content-Type"] == "application/problem+json"
    assert int(answer["Retry-After"]) > 0


def test_a_write_that_waits_too_long_for_others_is_an_outage_with_a_next_step(
    tmp_path: Path, db: None
) -> None:
    path = tmp_path / "hub.sqlite3"
    options = {"timeout": 0.05, "transaction_mode": "IMMEDIATE"}
    engine = "django.db.backends.sqlite3"
    mine = ConnectionHandler({"default": {"ENGINE": engine, "NAME": path, "OPTIONS": options}})
    with closing(sqlite3.connect(path)) as other, closing(mine["default"]):
        other.execute("BEGIN IMMEDIATE")
        with mine["default"].cursor() as cursor:
            with pytest.raises(Unavailable) as raised:
                cursor.execute("BEGIN IMMEDIATE")
            assert raised.value.code == "database_busy"
            assert "PostgreSQL" in raised.value.hint
            other.rollback()
            cursor.execute("BEGIN IMMEDIATE")
            # Other errors of SQLite stay what they are.
            with pytest.raises(OperationalError):
                cursor.execute("SELECT * FROM no_such_table")


def test_only_web_servers_limit_their_queries(
    monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.STATEMENT_S = 7
    database = {
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": {"options": "-c jit=off"},
    }
    monkeypatch.setitem(connections.settings, "default", database)
    limit_statements()
    assert database["OPTIONS"] == {"options": "-c jit=off -c statement_timeout=7s"}
    monkeypatch.setitem(
        connections.settings, "default", {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": {}}
    )
    limit_statements()
    assert connections.settings["default"]["OPTIONS"] == {}


def test_connections_are_kept_and_checked_before_use() -> None:
    database = connections.settings["default"]
    assert (database["CONN_MAX_AGE"], database["CONN_HEALTH_CHECKS"]) == (60, True)


@postgres
@pytest.mark.django_db
def test_more_connections_than_the_server_accepts_are_reported(settings: Any) -> None:
    assert checks.connections() == []
    settings.DATABASE_CONNECTIONS = 100_000
    (actual,) = checks.connections()
    assert actual.id == "hub.W012"
    assert "max_connections" in (actual.hint or "")


def test_the_check_is_part_of_deployment(capsys: pytest.CaptureFixture[str], db: None) -> None:
    call_command("check", "--deploy", "--tag", "hub")
