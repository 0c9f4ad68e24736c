"""The performance of a build, as the client and the command show it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client

GROUP = {
    "sequence": 3, "name": "conv#1", "label": "Conv + Relu", "median_ns": 60_000, "mad_ns": 500,
    "runs": 21, "share": 0.6, "is_plausible": True, "precision": "bfloat16", "nodes": [4, 5],
    "grade": "exact", "marks": ["untuned", "bfloat16"],
}  # fmt: skip
PROFILE = {
    "build": "b1", "target": "x86-64-avx512", "backend": "tvm", "tolerance": "exact",
    "total_ns": 100_000, "sum_ns": 80_000, "is_reconciled": False, "count": 2,
    "tuned_share": 0.25, "precisions": {"bfloat16": 60_000, "": 20_000},
    "groups": [GROUP, {**GROUP, "sequence": 0, "label": "Gemm", "share": 0.0,
                       "is_plausible": False}],
}  # fmt: skip
REASONS = [
    {"code": "untuned", "state": "applies", "title": "Not tuned", "text": "By default.",
     "saving": 0.2},
    {"code": "noise", "state": "not", "title": "Times vary", "text": "1 %.", "saving": None},
]  # fmt: skip


@pytest.fixture
def run(client: Client, hub: Any) -> Callable[..., Result]:
    hub.on("GET", "/api/v1/models/lab/tiny/performance", PROFILE)
    for sequence in (3, 0):
        answer = {"group": GROUP, "reasons": REASONS if sequence == 3 else []}
        hub.on("GET", f"/api/v1/builds/b1/groups/{sequence}", answer)
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.app, list(words), obj=client)


def test_the_client_reads_groups_with_reasons(
    client: Client, hub: Any, run: Callable[..., Result]
) -> None:
    profile = client.performance("lab/tiny", target="x86-64-avx512")
    assert [group.label for group in profile.groups] == ["Conv + Relu", "Gemm"]
    assert profile.groups[0].nodes == (4, 5)
    assert [reason.code for reason in profile.groups[0].reasons] == ["untuned", "noise"]
    assert dict(hub.requests[0].url.params) == {"target": "x86-64-avx512"}


def test_the_command_prints_groups_and_what_applies(run: Callable[..., Result]) -> None:
    result = run("perf", "lab/tiny")
    assert result.exit_code == 0
    assert "tvm exact for x86-64-avx512" in result.stdout
    assert "3\tConv + Relu\t60 µs\t500 ns\t60.0%\tbfloat16\tuntuned, bfloat16" in result.stdout
    assert "0\tGemm\tno valid time" in result.stdout
    assert "call 3: Not tuned. By default." in result.stdout
    assert "Times vary" not in result.stdout
    assert "do not add up" in result.stderr


def test_the_command_prints_json(run: Callable[..., Result]) -> None:
    document = json.loads(run("perf", "lab/tiny", "--json").stdout)
    assert document["groups"][0]["reasons"][0]["saving"] == 0.2
