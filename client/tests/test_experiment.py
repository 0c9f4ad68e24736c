"""Experiments with schedules."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client

JOB = {"uuid": "j1", "kind": "ablate", "model": "lab/tiny", "state": "succeeded"}
CONTROL = {
    "position": -1, "reason": "the same schedule, built twice", "ratio": 1.0, "ratio_low": 0.98,
    "ratio_high": 1.02, "verdict": "same", "outcome": "measured",
}  # fmt: skip
VARIANT = CONTROL | {"position": 2, "reason": "not tiled", "ratio": None, "outcome": "invalid"}


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(cli.app, list(words), obj=client)


def test_an_ablation_is_requested_awaited_and_shown(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("POST", "/api/v1/workloads/w1/ablations", {"items": [JOB]})
    hub.on("GET", "/api/v1/jobs/j1", JOB)
    hub.on("GET", "/api/v1/workloads/w1/ablations", {"items": [CONTROL, VARIANT]})
    result = run("ablate", "w1", "--budget", "1min")
    assert result.exit_code == 0, result.output
    assert json.loads(hub.requests[0].content) == {"budget_s": 60.0}
    assert "control\tthe same schedule, built twice\t1.000\t0.980 to 1.020\tsame" in result.stdout
    assert "3\tnot tiled\tinvalid" in result.stdout


def test_without_waiting_the_job_is_named(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("POST", "/api/v1/workloads/w1/ablations", {"items": [JOB | {"state": "queued"}]})
    result = run("ablate", "w1", "--no-wait", "--json")
    assert json.loads(result.stdout)["uuid"] == "j1"
