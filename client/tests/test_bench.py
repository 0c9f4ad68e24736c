"""Repeating a measurement: same plan, fresh processes, an honest comparison."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest

from hpcfair import machine
from hpcfair.bench.inputs import timing_inputs
from hpcfair.bench.process import SideProcess
from hpcfair.bench.reproduction import RecordReproduction, reproduce
from hpcfair.bench.rounds import Plan, RepeatedRounds, measure
from hpcfair.client import Client
from hpcfair.errors import BadInput, RuntimeFailed
from hpcfair.measurement.level import MOST_REPETITIONS
from hpcfair.measurement.types import Block, Timing
from hpcfair.progress import working
from hpcfair.record import Record, record_id
from hpcfair.typingnames import Self

OID = "3f786850e387550fdab836ed7e6dc881de23001b"


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

    def time(self, runs: int, warmup: int) -> Timing:
        assert warmup >= 1
        self.log.append(f"{self.name}{runs}")
        return Timing((self.ns,) * runs)

    def rest(self) -> None:
        self.log.append(f"rest {self.name}")


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

    # Before a side is timed, the other one rests; the two inner blocks run as one.
    opened = ["open A", "open B", "rest B", "A3", "rest A", "B3"]
    first = ["rest B", "A2", "rest A", "B8", "rest B", "A2"]
    second = ["B4", "rest B", "A4", "rest A", "B4"]
    closed = ["close B", "close A"]
    assert log == [*opened, *first, *closed, *opened, *second, *closed]
    assert list(found.blocks) == [Block(n, (100,) * 4, (50,) * 8) for n in range(2)]


class SideOfLevels(FakeSide):
    """A side that takes another time in each process, in turn."""

    def __init__(self, times_ns: list[int], *, placed: bool = False) -> None:
        super().__init__("side", times_ns.pop(0), [])
        self.placed = placed

    def time(self, runs: int, warmup: int) -> Timing:
        return replace(super().time(runs, warmup), caller_placed=self.placed)


def repeated(times_ns: list[int], *rounds: int) -> RepeatedRounds:
    """Rounds beside a baseline that takes these times in its processes, one after another."""
    plan = Plan(rounds, baseline_runs=1, candidate_runs=1, warmup_runs=1)
    with working("test") as meter:
        return measure(
            plan,
            lambda: SideOfLevels(times_ns, placed=True),
            lambda: SideOfLevels([50]),
            meter,
        )


def test_a_process_whose_baseline_is_off_its_level_is_repeated() -> None:
    """Also the first one, as soon as others show that it was off."""
    times_ns = [180, 100, 101, 99, 185, 102]
    actual = repeated(times_ns, 3, 3, 3, 3)
    assert not times_ns
    assert [block.process for block in actual.blocks] == [n for n in range(4) for _ in range(3)]
    assert {ns for block in actual.blocks for ns in block.baseline_ns} == {100, 101, 99, 102}
    assert actual.repetitions == 2
    assert actual.placed == {"baseline"}
    assert (actual.off_level, actual.baseline_shift) == ((), None)
    assert actual.verdict(0.03) == "faster"


def test_a_baseline_that_stays_off_its_level_is_left_out_if_enough_remains() -> None:
    enough = repeated([100, 101, 180, 181, 182], 3, 3, 3)
    assert enough.off_level == (6, 7, 8)
    assert enough.repetitions == MOST_REPETITIONS
    assert enough.baseline_shift is None
    assert enough.verdict(0.03) == "faster"
    assert enough.ratio.value == pytest.approx(0.5, rel=0.02)

    few = repeated([100, 101, 180, 181, 182], 2, 2, 2)
    assert few.baseline_shift == pytest.approx(1.8, rel=0.03)
    assert few.verdict(0.03) == "unstable"


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


def test_a_side_that_cannot_open_its_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"not ONNX")
    np.savez(tmp_path / "inputs.npz", x=np.zeros(1))

    with pytest.raises(RuntimeFailed, match="cannot open model"):
        SideProcess("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz")


def test_a_side_is_out_of_reach_of_ctrl_c_and_ends_with_its_context(
    tmp_path: Path, tiny: bytes
) -> None:
    (tmp_path / "model.onnx").write_bytes(tiny)
    np.savez(tmp_path / "inputs.npz", x=np.ones((1, 4), np.float32))

    with SideProcess("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz") as side:
        timing = side.time(3, 1)
        side.rest()
        assert len(timing.samples_ns) == 3
        assert timing.involuntary_switches is not None
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
        SideProcess("onnxruntime", tmp_path / "model.onnx", {}, tmp_path / "inputs.npz")


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
    # The build states its number of threads, with which ONNX Runtime pins none; its defaults do.
    placed = document["protocol"]["caller_placed"]
    assert placed.keys() == {"baseline", "candidate"}
    assert not placed["candidate"]
    if sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1:
        assert placed["baseline"]
    assert repeated.agrees
    assert "The intervals overlap: reproduced." in str(repeated)
    json.dumps(document, allow_nan=False)


def test_a_loaded_model_is_measured_again_and_the_result_is_sent(
    hub: Any, client: Client, record: dict[str, Any], resolution: dict[str, Any], sent: Any
) -> None:
    plain = {**resolution, "build": None, "record_id": None}
    hub.on(
        "POST",
        "/api/v1/models/lab/tiny/resolve",
        lambda request: resolution if sent(request)["runtimes"] else plain,
    )
    resolution["record_id"] = record["record_id"]
    hub.on("POST", "/api/v1/records", sent)

    with client.load("lab/tiny") as model:
        repeated = model.reproduce(send=True)

    assert repeated.original.id == record["record_id"]
    assert repeated.agrees
    assert repeated.ratio.low <= repeated.ratio.value <= repeated.ratio.high
    (request,) = hub.calls("POST", "/api/v1/records")
    assert sent(request)["record_id"] == repeated.record_id


def test_the_published_model_has_no_record_to_repeat(
    hub: Any, client: Client, record: dict[str, Any]
) -> None:
    with pytest.raises(BadInput, match="no record"):
        client.load("lab/tiny", target=None).reproduce()


def test_a_record_whose_figures_do_not_come_back_says_so(record: dict[str, Any]) -> None:
    slower = {"ratio": 0.9, "ratio_low": 0.88, "ratio_high": 0.92}
    original = {**record, "comparison": {"ratio": 0.6, "ratio_low": 0.58, "ratio_high": 0.62}}

    repeated = RecordReproduction(
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
    assert hub.requests == []
