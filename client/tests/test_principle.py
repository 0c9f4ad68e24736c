"""Principles of the hub."""

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.principle import Principle

PRINCIPLE = {
    "identifier": "a" * 64,
    "words": "Fast schedules of matmul: loops are unrolled",
    "anchor": "matmul",
    "status": "published",
    "published_at": "2026-01-02T03:04:05Z",
    "changed_at": "2026-01-02T03:04:05Z",
}


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(cli.app, list(words), obj=client)


def test_principles_are_listed_and_filtered(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/principles", {"items": [PRINCIPLE], "next": None})
    result = run("principles", "--status", "published", "--operator", "matmul")
    assert result.stdout == f"published\t{PRINCIPLE['words']}\t{'a' * 12}\n"
    params = dict(hub.requests[0].url.params)
    assert (params["status"], params["anchor"]) == ("published", "matmul")


def test_a_principle_comes_with_its_evidence(hub: Any, client: Client) -> None:
    document = PRINCIPLE | {"evidence": {"support": {"workloads": 3}}, "version": 2}
    hub.on("GET", f"/api/v1/principles/{'a' * 64}", document)
    assert client.principle("a" * 64, version=2) == document
    assert dict(hub.requests[0].url.params) == {"version": "2"}
    assert Principle.from_json(document).anchor == "matmul"
