"""Devices and this machine's targets on the command line."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli, machine
from hpcfair.client import Client
from hpcfair.device import device, device_change, device_code, devices
from hpcfair.healthcheck import answer, health_check

BENCH = {
    "name": "bench 1",
    "target": "x86-64-avx2",
    "owner": "alice",
    "state": "active",
    "health": "online",
    "facts": {"processor": "Example Processor 8000"},
    "tools": {"tvm": {}, "onnxruntime": {}},
    "unknown": "of a later version",
}


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    return lambda *words: CliRunner().invoke(cli.app, words, obj=client)


def test_devices_are_listed_and_shown(hub: Any, client: Client, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/devices", {"items": [BENCH], "next": None})
    hub.on("GET", "/api/v1/devices/bench 1", BENCH)
    assert [row.name for row in devices(client.http)] == ["bench 1"]
    assert device(client.http, "bench 1").owner == "alice"
    assert run("devices", "list").stdout == "bench 1\tx86-64-avx2\tactive\tonline\talice\t\n"
    shown = run("devices", "show", "bench 1").stdout
    assert "Example Processor 8000" in shown
    assert "onnxruntime, tvm" in shown
    assert json.loads(run("devices", "show", "bench 1", "--json").stdout)["tools"] == BENCH["tools"]


@pytest.mark.parametrize(
    ("command", "state"),
    [
        ("drain", "draining"),
        ("resume", "active"),
        ("maintenance", "maintenance"),
        ("quarantine", "quarantined"),
        ("retire", "retired"),
    ],
)
def test_changes_of_state_are_sent_with_their_reason(
    hub: Any, run: Callable[..., Result], command: str, state: str
) -> None:
    hub.on("PATCH", "/api/v1/devices/bench 1", BENCH | {"state": state})
    result = run("devices", command, "bench 1", "--reason", "new memory")
    assert result.exit_code == 0
    assert result.stderr == f"bench 1 is {state}.\n"
    assert json.loads(hub.requests[0].content) == {"state": state, "reason": "new memory"}


def test_a_code_comes_with_the_command_that_uses_it(
    hub: Any, client: Client, run: Callable[..., Result]
) -> None:
    hub.on("POST", "/api/v1/device-codes", {"code": "BCDF-GHJK-LMNP-QRST", "expires_at": ""})
    assert device_code(client.http, target="nvidia-h200") == "BCDF-GHJK-LMNP-QRST"
    result = run("devices", "code", "--owner", "alice")
    assert result.stdout == "BCDF-GHJK-LMNP-QRST\n"
    assert "hpcfair-agent join BCDF-GHJK-LMNP-QRST --hub http" in result.stderr
    assert json.loads(hub.requests[-1].content) == {"target": None, "owner": "alice"}


def test_a_changed_device_is_returned(hub: Any, client: Client) -> None:
    hub.on("PATCH", "/api/v1/devices/bench 1", BENCH | {"state": "draining"})
    assert device_change(client.http, "bench 1", "draining").state == "draining"


def test_this_machine_is_described_without_a_hub() -> None:
    described = machine.describe()
    result = CliRunner().invoke(cli.app, ["targets", "detect"])
    assert result.exit_code == 0
    assert described.architecture in result.stdout
    assert machine.target_slug(described) in result.stdout
    document = json.loads(CliRunner().invoke(cli.app, ["targets", "detect", "--json"]).stdout)
    assert document["targets"][0]["slug"] == machine.target_slug(described)
    assert document["machine"]["architecture"] == described.architecture


def test_a_health_check_is_the_same_everywhere() -> None:
    check = health_check(17)
    assert health_check(17) == check
    assert (len(check.x[0]), len(check.w1), len(check.w2[0])) == (16, 16, 8)
    assert {value for row in check.w1 for value in row} == {-1, 0, 1}
    assert len(answer(check)) == 8
