"""Profiles of other tools are sent, listed, shown and deleted."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client
from hpcfair.errors import BadInput

PATH = "/api/v1/models/lab/tiny/profiles"
UUID = "0d8f9a34-52f6-4a7b-9d5e-6f5a3b1c2d10"
PROFILE: dict[str, Any] = {
    "uuid": UUID,
    "revision": "3f786850e387550fdab836ed7e6dc881de23001b",
    "actor": "alice",
    "format": "tensorrt",
    "target": "NVIDIA H100",
    "total_ns": 812_000,
    "created_at": "2026-01-02T03:04:05Z",
    "notes": ["Layers are synchronised."],
    "totals": {
        "linked": 20,
        "count": 21,
        "coverage": {"nodes": 49, "exact": 20, "inferred": 28, "shared": 1, "folded": 0},
    },
}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A profile and its layer information."""
    profile, layers = tmp_path / "profile.json", tmp_path / "layers.json"
    profile.write_bytes(b"[]")
    layers.write_bytes(b"{}")
    return profile, layers


def run(client: Client, *words: str) -> Result:
    return CliRunner().invoke(cli.app, ["profiles", *words], obj=client)


def test_both_files_are_sent_and_named_by_their_digests(
    hub: Any, client: Client, files: tuple[Path, Path]
) -> None:
    hub.on("POST", PATH, PROFILE)
    result = client.profiles_import(
        "lab/tiny", files[0], target="NVIDIA H100", details=files[1], tool_version="10.12"
    )
    assert result.uuid == UUID
    (request,) = hub.calls("POST", PATH)
    body = json.loads(request.content)
    assert set(hub.blobs) >= {body["sha256"], body["details_sha256"]}
    assert (body["target"], body["tool_version"], body["format"]) == ("NVIDIA H100", "10.12", "")


def test_a_missing_file_is_told_before_anything_is_sent(hub: Any, client: Client) -> None:
    with pytest.raises(BadInput, match="no file"):
        client.profiles_import("lab/tiny", "/nowhere", target="x")
    assert not hub.requests


def test_the_command_tells_what_was_matched(
    hub: Any, client: Client, files: tuple[Path, Path]
) -> None:
    hub.on("POST", PATH, PROFILE)
    result = run(client, "import", str(files[0]), "lab/tiny", "--target", "NVIDIA H100")
    assert result.exit_code == 0, result.stderr
    assert "20 of 21" in result.stdout
    assert "20 exact, 28 inferred, 1 shared, 0 folded" in result.stdout
    assert "alice, not by the hub" in result.stdout


def test_profiles_are_listed_shown_and_deleted(hub: Any, client: Client) -> None:
    hub.on("GET", PATH, {"items": [PROFILE], "next": None})
    hub.on("GET", f"/api/v1/profiles/{UUID}", PROFILE)
    hub.on("DELETE", f"/api/v1/profiles/{UUID}", {})
    assert UUID in run(client, "list", "lab/tiny").stdout
    assert json.loads(run(client, "list", "lab/tiny", "--json").stdout)[0]["uuid"] == UUID
    assert "0.812 ms" in run(client, "show", UUID).stdout
    assert json.loads(run(client, "show", UUID, "--json").stdout)["format"] == "tensorrt"
    assert run(client, "delete", UUID).exit_code == 0
    assert len(hub.calls("DELETE", f"/api/v1/profiles/{UUID}")) == 1
