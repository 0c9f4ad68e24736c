"""Repeating a measurement: same plan, fresh processes, an honest comparison."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
import pytest

from hpcfair import machine
from hpcfair.bench import side
from hpcfair.bench.inputs import timing_inputs
from hpcfair.bench.outputs import deviation, within
from hpcfair.bench.process import Side
from hpcfair.bench.ratio import Block, Interval, ratio_interval, statistics, verdict
from hpcfair.bench.reproduction import Reproduction, reproduce
from hpcfair.bench.rounds import Plan, measure
from hpcfair.bench.side import time_runs
from hpcfair.client import Client
from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.progress import working
from hpcfair.record import Record, record_id

OID = "3f786850e387550fdab836ed7e6dc881de23001b"


def blocks(ratio: float, *, processes: int = 3, rounds: int = 4) -> list[Block]:
    rng = np.random.default_rng(1)
    return [
        Block(
            process,
            tuple(int(ns) for ns in rng.normal(1e6, 1e4, 20)),
            tuple(int(ns) for ns in rng.normal(1e6 * ratio, 1e4, 20)),
        )
        for process in range(processes)
        for _ in range(rounds)
    ]


def test_the_interval_holds_the_true_ratio() -> None:
    ratio = ratio_interval(blocks(0.7))

    assert ratio.low < 0.7 < ratio.high
    assert ratio.half_width < 0.02


@pytest.mark.parametrize(
    ("ratio", "rounds", "said"),
    [
        (Interval(0.8, 0.78, 0.82), 12, "faster"),
        (Interval(1.2, 1.18, 1.22), 12, "slower"),
        (Interval(1.0, 0.99, 1.01), 12, "same"),
        (Interval(1.0, 0.8, 1.2), 12, "unstable"),
        (Interval(0.8, 0.78, 0.82), 5, "unstable"),
    ],
)
def test_a_verdict_says_no_more_than_the_interval(ratio: Interval, rounds: int, said: str) -> None:
    assert verdict(ratio, rounds, 0.03) == said


def test_tail_percentiles_need_enough_samples() -> None:
    few, many = statistics(range(1, 51)), statistics(range(1, 2001))

    assert "p95_ns" not in few
    assert many["p99_ns"] == pytest.approx(1980, abs=1)
    assert few["p50_ns"] == 25.5


class FakeSide:
    """A side that takes a fixed time, and writes down when it ran."""

    def __init__(self, name: str, ns: int, log: list[str]) -> None:
        self.name, self.ns, self.log = name, ns, log

    def __enter__(self) -> Self:
        self.log.append(f"open {self.name}")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.log.append(f"close {self.name}")

    def time(self, runs: int, warmup: int) -> list[int]:
        assert warmup >= 1
        self.log.append(f"{self.name}{runs}")
        return [self.ns] * runs


def test_rounds_are_abba_in_fresh_processes_with_sides_swapped_in_every_other() -> None:
    log: list[str] = []
    plan = Plan(rounds=(1, 1), baseline_runs=2, candidate_runs=4, warmup_runs=3)

    with working("test") as meter:
        found = measure(
            plan,
            lambda: FakeSide("A", 100, log),
            lambda: FakeSide("B", 50, log),
            meter,
        )

    opened, closed = ["open A", "open B", "A3", "B3"], ["close B", "close A"]
    first, second = ["A2", "B4", "B4", "A2"], ["B4", "A2", "A2", "B4"]
    assert log == [*opened, *first, *closed, *opened, *second, *closed]
    assert found == [Block(n, (100,) * 4, (50,) * 8) for n in range(2)]


def test_a_side_is_at_rest_before_the_other_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    log: list[str] = []

    class Recorded:
        def run(self, inputs: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ARG002
            log.append("run")
            return {}

    monkeypatch.setattr(side, "wait_until_quiet", lambda: log.append("wait"))
    runtime: Any = Recorded()
    assert len(time_runs(runtime, {}, runs=2, warmup=1)) == 2
    assert log == ["run", "run", "run", "wait"]


def test_a_record_without_a_baseline_cannot_be_repeated() -> None:
    alone = {"samples": {"blocks": [{"process": 0, "candidate_ns": [1]}]}}

    with pytest.raises(BadInput, match="without a baseline"):
        Plan.of(alone)


def test_random_inputs_have_the_shape_and_type_of_the_records() -> None:
    specs = [
        {"name": "x", "dtype": "float32", "shape": [2, 3], "distribution": "normal", "seed": 7},
        {"name": "u", "dtype": "float64", "shape": [4], "distribution": "uniform", "seed": 7},
        {"name": "ids", "dtype": "int64", "shape": [5], "distribution": "integers", "seed": 7},
    ]

    arrays = timing_inputs(specs, None)

    assert {name: (str(a.dtype), list(a.shape)) for name, a in arrays.items()} == {
        spec["name"]: (spec["dtype"], spec["shape"]) for spec in specs
    }
    again = timing_inputs(specs, None)
    assert all(np.array_equal(arrays[name], again[name]) for name in arrays)


def test_inputs_measured_on_samples_come_from_the_samples(tmp_path: Path) -> None:
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    samples: dict[str, Any] = {"inputs/x": rows}
    np.savez(tmp_path / "samples.npz", **samples)
    spec = {"name": "x", "dtype": "float32", "distribution": "samples"}

    batch = timing_inputs([{**spec, "shape": [1, 4]}], tmp_path / "samples.npz")
    whole = timing_inputs([{**spec, "shape": [4]}], tmp_path / "samples.npz")

    np.testing.assert_array_equal(batch["x"], rows[:1])
    np.testing.assert_array_equal(whole["x"], rows[0])
    with pytest.raises(BadInput, match="no 'x' of shape"):
        timing_inputs([{**spec, "shape": [9, 9]}], tmp_path / "samples.npz")


def test_deviation_is_the_worst_over_all_outputs() -> None:
    reference = {"y": np.array([1.0, 2.0]), "z": np.array([1, 2])}

    found = deviation(reference, {"y": np.array([1.0, 2.1]), "z": np.array([1, 2])})

    assert found["max_absolute"] == pytest.approx(0.1)
    assert found["max_relative"] == pytest.approx(0.05)
    exact = dict.fromkeys(found, 0.0)
    assert within("int8", found, exact)
    assert not within("exact", found, exact)
    # A network whose defaults stray as far is badly conditioned, the build is not to blame.
    assert within("exact", found, found)


@pytest.mark.parametrize(
    "output", [np.array([1.0, np.nan]), np.array([1.0]), np.array([1.0, np.inf])]
)
def test_outputs_of_another_form_are_no_deviation_but_a_failure(output: Any) -> None:
    with pytest.raises(RuntimeFailed):
        deviation({"y": np.array([1.0, 2.0])}, {"y": output})


def test_a_side_that_cannot_open_its_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not ONNX")
    np.savez(tmp_path / "inputs.npz", x=np.zeros(1))

    with pytest.raises(RuntimeFailed, match="cannot open model"):
        Side("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz")


def test_a_side_is_out_of_reach_of_ctrl_c_and_ends_with_its_context(
    tmp_path: Path, tiny: bytes
) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)
    np.savez(tmp_path / "inputs.npz", x=np.ones((1, 4), np.float32))

    with Side("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz") as side:
        assert len(side.time(3, 1)) == 3
        assert os.getsid(side._process.pid) != os.getsid(0)

    assert side._process.poll() is not None


def test_a_side_that_dies_is_a_failure_with_its_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dying = tmp_path / "python"
    dying.write_text("#!/bin/sh\nexit 3\n")
    dying.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(dying))

    with pytest.raises(RuntimeFailed, match="status 3"):
        Side("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz")


@pytest.fixture
def record(hub: Any, build: dict[str, Any], resolution: dict[str, Any]) -> dict[str, Any]:
    """A published record of the tiny build, with the answers needed to repeat it."""
    here = machine.describe()
    document: dict[str, Any] = {
        "schema": "hpcfair.bench/1",
        "identity": {
            "kind": "headline",
            "mlmodel": "lab/tiny",
            "revision": OID,
            "inputs": [
                {"name": "x", "dtype": "float32", "shape": [1, 4], "distribution": "normal"}
            ],
        },
        "target": {
            "slug": machine.target_slug(here),
            "architecture": here.architecture,
            "processor": here.processor,
        },
        "config": {"backend": "onnxruntime", "options": {}, "tolerance": "exact"},
        "protocol": {
            "scenario": "single-stream",
            "half_width": 0.03,
            "runs_per_block": 2,
            "warmup_runs": 2,
        },
        "samples": {
            "blocks": [
                {"process": p, "baseline_ns": [10] * 4, "candidate_ns": [10] * 4}
                for p in (0, 0, 0, 1, 1, 1)
            ]
        },
        "statistics": {"candidate": {"p50_ns": 10.0}},
        "comparison": {
            "baseline": {"backend": "onnxruntime", "options": {"default": True}},
            "ratio": 1.0,
            "ratio_low": 0.01,
            "ratio_high": 100.0,
            "verdict": "unstable",
        },
    }
    document["record_id"] = record_id(document)
    build["record_id"] = document["record_id"]
    hub.on("GET", f"/api/v1/records/{document['record_id']}", document)
    hub.on("GET", "/api/v1/models/lab/tiny/builds", lambda _: {"items": [build]})
    hub.on(
        "GET",
        f"/api/v1/models/lab/tiny/revisions/{OID}",
        {"oid": OID, "files": build["files"]},
    )
    plain = {**resolution, "build": None, "record_id": None}
    hub.on("POST", "/api/v1/models/lab/tiny/resolve", plain)
    return document


def test_a_record_is_repeated_by_its_own_plan(client: Client, record: dict[str, Any]) -> None:
    repeated = reproduce(client.http, client.cache, record["record_id"])

    document = repeated.document
    assert document["record_id"] == record_id(document)
    assert document["identity"]["kind"] == "reproduction"
    assert document["provenance"]["reproduces"] == record["record_id"]
    shape = [
        (block["process"], len(block["baseline_ns"]), len(block["candidate_ns"]))
        for block in document["samples"]["blocks"]
    ]
    assert shape == [(0, 4, 4)] * 3 + [(1, 4, 4)] * 3
    assert document["correctness"]["passed"]
    assert repeated.agrees
    assert "The intervals overlap: reproduced." in str(repeated)
    json.dumps(document, allow_nan=False)


def test_a_record_whose_figures_do_not_come_back_says_so(record: dict[str, Any]) -> None:
    slower = {"ratio": 0.9, "ratio_low": 0.88, "ratio_high": 0.92}
    original = {**record, "comparison": {"ratio": 0.6, "ratio_low": 0.58, "ratio_high": 0.62}}

    repeated = Reproduction(
        Record("ab" * 32, original), {**record, "comparison": {**record["comparison"], **slower}}
    )

    assert not repeated.agrees
    assert "The intervals do not overlap: not reproduced." in str(repeated)
    assert "0.600 of the baseline's time (95 % interval 0.580 to 0.620)" in str(repeated)


def test_a_record_whose_build_was_replaced_cannot_be_repeated(
    hub: Any, client: Client, record: dict[str, Any]
) -> None:
    hub.on("GET", "/api/v1/models/lab/tiny/builds", {"items": []})

    with pytest.raises(BadInput, match="no build of this record"):
        reproduce(client.http, client.cache, record["record_id"])


def test_what_is_no_records_id_is_not_asked_for(hub: Any, client: Client) -> None:
    with pytest.raises(BadInput, match="64 hexadecimal digits"):
        reproduce(client.http, client.cache, "../records")
    assert hub.asked == []
