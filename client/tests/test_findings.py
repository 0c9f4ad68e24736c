"""What a hub finds in a card is told after a push."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.types import Finding

MODEL = "/api/v1/models/lab/tiny"
OID = "3f786850e387550fdab836ed7e6dc881de23001b"
FINDING: dict[str, Any] = {
    "line": 4,
    "field": "authors[0].orcid",
    "code": "orcid_invalid",
    "message": "The last digit does not fit.",
    "fix": "It may be a 7.",
    "severity": "error",
}


@pytest.fixture
def push(
    hub: Any, client: Client, tiny: bytes, tmp_path: Path, answer: Callable[..., httpx.Response]
) -> Callable[..., Result]:
    """Pushes the tiny network to a hub that takes it."""
    hub.on("POST", "/api/v1/models", httpx.Response(201, json={"name": "lab/tiny"}))
    hub.on("POST", f"{MODEL}/commits", {"oid": OID, "files": [], "jobs": []})
    hub.on("GET", f"{MODEL}/files/README.md", lambda _: answer(404, "model_not_found"))
    hub.on("GET", f"{MODEL}/findings", {"revision": OID, "items": [FINDING]})
    (tmp_path / "model.onnx").write_bytes(tiny)
    words = ["push", str(tmp_path / "model.onnx"), "lab/tiny", "--license", "mit"]
    return lambda *more: CliRunner().invoke(cli.app, [*words, *more], obj=client)


def test_a_push_tells_what_is_to_be_mended(hub: Any, push: Callable[..., Result]) -> None:
    result = push()
    assert result.exit_code == 0
    assert "README.md, line 4: The last digit does not fit. It may be a 7." in result.stderr
    assert dict(hub.calls("GET", f"{MODEL}/findings")[0].url.params) == {"revision": OID}


def test_programs_are_told_too(push: Callable[..., Result]) -> None:
    told = json.loads(push("--json").stdout)
    assert (told["oid"], told["findings"]) == (OID, [FINDING])


def test_a_hub_without_findings_takes_a_push_all_the_same(
    hub: Any, push: Callable[..., Result], answer: Callable[..., httpx.Response]
) -> None:
    hub.on("GET", f"{MODEL}/findings", lambda _: answer(404, "page_not_found"))
    result = push()
    assert result.exit_code == 0
    assert f"lab/tiny is at {OID[:12]}" in result.stderr


def test_findings_are_read_by_the_client(client: Client, hub: Any) -> None:
    hub.on("GET", f"{MODEL}/findings", {"revision": OID, "items": [{**FINDING, "new": 1}]})
    assert client.findings("lab/tiny") == (Finding(**FINDING),)
