"""Up, and able to work."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client


def broken() -> None:
    raise ConnectionRefusedError("a secret address")


def test_a_process_that_answers_is_up(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert "no-cache" in response["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.usefixtures("embedded_broker")
def test_a_hub_whose_parts_answer_is_ready(client: Client) -> None:
    response = client.get("/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "status": "ok",
        "checks": {"database": "ok", "storage": "ok", "broker": "ok", "index": "ok"},
    }


@pytest.mark.django_db
def test_each_part_is_reported_for_itself(
    client: Client, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path / "not there"
    settings.REDIS_URL = f"redis+socket://{tmp_path}/nobody.sock"
    monkeypatch.setattr(connection, "cursor", broken)
    response = client.get("/readyz")
    assert response.status_code == 503
    assert response.json() == {
        "status": "failing",
        "checks": {
            "database": "ConnectionRefusedError",
            "storage": "FileNotFoundError",
            "broker": "ConnectionError",
            "index": "ConnectionRefusedError",
        },
    }
    assert b"secret" not in response.content


def test_only_reading_is_possible(client: Client) -> None:
    assert client.post("/healthz").status_code == 405
