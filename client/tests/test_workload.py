"""Operator workloads, as the client lists them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client

WORKLOAD = {
    "uuid": "w1",
    "target": "x86-64-avx512",
    "operator": "conv2d_nhwc",
    "arguments": [{"dtype": "float32", "shape": [1, 28, 28, 32]}],
    "trials": 64,
    "best_s": 0.0001,
    "confirmed_s": 0.000123,
}
TRIAL = {
    "uuid": "t1",
    "words": {"tile of ff": "[1, 2, 1, 32]"},
    "proposed_by": "random",
    "median_s": 0.002,
}


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    return lambda *words: CliRunner().invoke(cli.app, list(words), obj=client)


def test_workloads_are_listed_and_filtered(hub: Any, run: Callable[..., Result]) -> None:
    unmeasured = WORKLOAD | {"uuid": "w2", "confirmed_s": None, "best_s": None}
    hub.on("GET", "/api/v1/workloads", {"items": [WORKLOAD, unmeasured], "next": None})
    result = run("workloads", "--target", "x86-64-avx512", "--operator", "conv")
    first, second = result.stdout.splitlines()
    assert first == "conv2d_nhwc\t1x28x28x32\tx86-64-avx512\t64\t123 µs\tw1"
    assert "\tnone\tw2" in second
    params = dict(hub.requests[0].url.params)
    assert (params["target"], params["q"]) == ("x86-64-avx512", "conv")


def test_the_fastest_trials_of_one_come_first(hub: Any, run: Callable[..., Result]) -> None:
    fast = TRIAL | {"median_s": 3e-7, "proposed_by": "evolution"}
    failed = TRIAL | {"median_s": None}
    trials = {"items": [TRIAL, failed, fast], "next": None}
    hub.on("GET", "/api/v1/workloads/w1/trials", trials)
    result = run("workloads", "w1")
    assert result.stdout.splitlines() == [
        "300 ns\tevolution\ttile of ff [1, 2, 1, 32]",
        "2 ms\trandom\ttile of ff [1, 2, 1, 32]",
    ]
    hub.on("GET", "/api/v1/workloads/w1/trials", trials)
    assert len(json.loads(run("workloads", "w1", "--json").stdout)) == 3
