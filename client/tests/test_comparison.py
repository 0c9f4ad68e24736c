"""Builds compared from Python and from the command line."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from hpcfair import cli
from hpcfair.client import Client

BUILD = {
    "uuid": "b1",
    "mlmodel": "lab/tiny",
    "target": "x86-64-avx2",
    "backend": "openvino",
    "tolerance": "int8",
    "is_baseline": False,
    "figures": {
        "latency": 2_000_000.0, "energy": None, "memory": 2**20, "size": None,
        "accuracy": 0.97, "error": 0.01, "throughput": None,
    },
}  # fmt: skip
DEFAULT = BUILD | {
    "uuid": "b0",
    "backend": "onnxruntime",
    "is_baseline": True,
    "figures": BUILD["figures"] | {"accuracy": None},  # type: ignore[operator]
}
DOCUMENT = {
    "builds": [BUILD, DEFAULT],
    "differences": {"threads": ["one", "all"]},
    "missing": ["lab/none"],
    "answer": {"cost": "size", "cheapest": "b1", "fitting": ["b1"], "unevaluated": 1},
}


@pytest.fixture
def run(client: Client) -> Callable[..., Result]:
    """Runs the command with the fake hub."""
    runner = CliRunner()
    return lambda *words: runner.invoke(cli.app, list(words), obj=client)


def test_parts_become_parameters(hub: Any, client: Client) -> None:
    hub.on("GET", "/api/v1/compare", DOCUMENT)
    answer = client.compare(
        ["b1", "b2"], models=["lab/tiny"], targets=["x"], accuracy=0.98, latency_ms=5, cost="size"
    )
    assert answer["builds"][0]["figures"]["energy"] is None
    assert dict(hub.requests[0].url.params) == {
        "build": "b1,b2", "model": "lab/tiny", "target": "x", "accuracy": "0.98",
        "latency_ms": "5", "x": "size",
    }  # fmt: skip


def test_what_is_left_out_is_not_sent(hub: Any, client: Client) -> None:
    hub.on("GET", "/api/v1/compare", DOCUMENT)
    client.compare(models=["lab/tiny"])
    assert dict(hub.requests[0].url.params) == {"model": "lab/tiny"}


def test_the_command_shows_figures_differences_and_the_answer(
    hub: Any, run: Callable[..., Result]
) -> None:
    hub.on("GET", "/api/v1/compare", DOCUMENT)
    result = run("compare", "lab/tiny", "lab/none", "--latency-ms", "5", "--cost", "size")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()[:2]
    assert first.split("\t")[:5] == [
        "lab/tiny", "x86-64-avx2", "openvino int8", "2 ms", "97.0 %",
    ]  # fmt: skip
    # An accuracy that was not evaluated is empty, not zero.
    assert second.split("\t")[2:5] == ["onnxruntime default", "2 ms", ""]
    said = result.output
    assert "Measured under different conditions: threads: one; all" in said
    assert "nothing called lab/none" in said
    assert "Cheapest by size of 1 within the limits: openvino on x86-64-avx2, build b1" in said


def test_the_command_prints_the_document_for_programs(hub: Any, run: Callable[..., Result]) -> None:
    hub.on("GET", "/api/v1/compare", DOCUMENT)
    assert json.loads(run("compare", "lab/tiny", "--json").stdout) == DOCUMENT
