"""Benchmark records against their schema."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from workers.device.best import best_result
from workers.engine.artifacts import artifact_files, artifact_sha256
from workers.engine.condition import Condition, quality_between
from workers.engine.records import Origin, bench_record
from workers.engine.requests import TuningRequest
from workers.engine.spent import Spent
from workers.engine.types import BuildResult, TargetSpec, sha256_of
from workers.testing.simulation import Noise, SimulatedDevice

from .searching import a_request, search

SCHEMA = json.loads(
    (Path(__file__).parents[3] / "registry/schemas/hpcfair.bench-1.json").read_text()
)

ORIGIN = Origin(
    mlmodel="lab/pretend",
    revision="c" * 40,
    device="bench-1",
    sandbox="limits+landlock",
    created_at="2026-01-15T09:30:00Z",
    tools={"hpcfair-hub": "0.1.0"},
    search_key="d" * 64,
    provenance={"attempt": 1, "fence": 3},
)


def assert_valid(document: dict[str, Any]) -> None:
    """Against the committed schema, and against the rules on numbers it states in words."""
    Draft202012Validator(SCHEMA).validate(document)
    unnamed = {name: value for name, value in document.items() if name != "record_id"}
    assert document["record_id"] == sha256_of(unnamed)
    assert json.loads(json.dumps(document)) == document
    assert "-0.0" not in json.dumps(document)


@pytest.fixture
def tuning_request() -> TuningRequest:
    return a_request(12)


@pytest.mark.parametrize("source", ["normal", "samples"])
def test_every_headline_and_the_baseline_give_a_valid_record(
    source: str, tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    device.noise = Noise()
    if source == "samples":
        rows = np.random.default_rng(0).standard_normal((8, 8)).astype(np.float32)
        device.samples_file = {"inputs/x": rows, "labels": np.arange(8)}
    result = search(device, tuning_request)
    assert result.confirmed_results
    for confirmed in (*result.confirmed_results, result.baseline):
        document = bench_record(tuning_request, result, confirmed, ORIGIN)
        assert_valid(document)
        assert ("accuracy" in document["correctness"]) is (source == "samples")
        assert {i["distribution"] for i in document["identity"]["inputs"]} == {source}


def test_a_record_says_what_was_measured(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    device.noise = Noise()
    result = search(device, tuning_request)
    best = best_result(result, "exact")
    document = bench_record(tuning_request, result, best, ORIGIN)
    measured = best.measurement
    assert document["config"]["options"] == best.trial.candidate.options
    assert document["identity"]["config_sha256"] == best.trial.candidate.sha256
    assert document["comparison"]["ratio"] == measured.ratio.value
    assert document["comparison"]["verdict"] == "faster"
    assert document["comparison"]["baseline"] == result.baseline.trial.candidate.as_dict()
    assert document["search"]["number"] == best.trial.number
    assert document["protocol"]["processes"] == len({b.process for b in measured.blocks})
    assert document["compile"]["wall_s"] == device.build_s
    assert document["memory"]["peak_rss_bytes"] == 2**20
    assert document["provenance"]["fence"] == 3
    samples = [ns for block in measured.blocks for ns in block.candidate_ns]
    side = document["statistics"]["candidate"]
    assert (side["n"], side["min_ns"]) == (len(samples), min(samples))
    assert side["p50_ns"] == pytest.approx(measured.candidate_p50_ns, abs=1)
    assert ("p95_ns" in side, "p99_ns" in side) == (len(samples) >= 100, len(samples) >= 1000)


def test_what_is_not_known_is_absent(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    result = search(device, tuning_request)
    document = bench_record(
        tuning_request, result, result.baseline, replace(ORIGIN, search_key=None)
    )
    assert_valid(document)
    assert "search_key" not in document["search"]
    assert "predicted_ratio" not in document["search"]
    assert "peak_rss_bytes" not in document["compile"]
    assert "energy" not in document
    assert "null" not in json.dumps(document)


def test_a_search_trial_gives_a_record_of_its_own_kind(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    result = search(device, tuning_request)
    document = bench_record(tuning_request, result, result.baseline, ORIGIN, kind="search-trial")
    assert_valid(document)
    assert document["identity"]["kind"] == "search-trial"


def test_facts_of_the_machine_go_where_the_schema_has_a_place(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    facts = {
        "processor": "Pretend 9000",
        "logical_cpus": 8,
        "os": "Pretend Linux 1",
        "kernel": "6.1",
        "governor": "performance",
        "virtualisation": "vm",
        "caches": {"L2": 2**20},
        "microcode": "0x1",
    }
    target = TargetSpec("arm64-generic", "arm64", frozenset({"asimd"}), 8, 2**34, facts)
    tuning_request = replace(tuning_request, target=target)
    result = search(device, tuning_request)
    document = bench_record(tuning_request, result, result.baseline, ORIGIN)
    assert_valid(document)
    assert document["target"]["threads"] == 8
    assert document["target"]["facts"] == facts
    assert document["environment"]["governor"] == "performance"
    assert document["environment"]["os"] == "Pretend Linux 1"


def test_a_build_whose_files_are_gone_has_no_record(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    result = search(device, tuning_request)
    gone = replace(result.baseline, build=BuildResult("measured"))
    with pytest.raises(ValueError, match="files of this build are gone"):
        bench_record(tuning_request, result, gone, ORIGIN)


def test_an_artefact_is_named_by_paths_and_contents(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.bin").write_bytes(b"bb")
    (tmp_path / "a.onnx").write_bytes(b"a")
    files = artifact_files(BuildResult("measured", directory=tmp_path))
    assert [(file.path, file.size_bytes) for file in files] == [("a.onnx", 1), ("sub/b.bin", 2)]
    before = artifact_sha256(files)
    (tmp_path / "a.onnx").rename(tmp_path / "c.onnx")
    assert artifact_sha256(artifact_files(BuildResult("measured", directory=tmp_path))) != before


def test_a_record_holds_what_the_machine_told_and_nothing_else(
    tuning_request: TuningRequest, device: SimulatedDevice
) -> None:
    result = search(device, tuning_request)
    plain = bench_record(tuning_request, result, result.baseline, ORIGIN)
    assert "energy" not in plain
    assert not {"throttled", "clock_mhz", "cotenant_cpu_share"} & plain["quality"].keys()
    assert plain["correctness"]["sizes"] == 1
    assert plain["correctness"]["propagates"] is True
    before = Condition(0.0, (2e3,), 0, 50.0, 0, Spent(1.0, 0.0, 0.5))
    after = Condition(9.0, (3e3,), 0, 60.0, 9, Spent(8.0, 0.0, 6.0))
    told = replace(
        result.baseline.measurement,
        energy={"method": "measured", "source": "rapl-package", "joules_per_run": 0.1,
                "window_s": 2.0},
        quality=result.baseline.measurement.quality | quality_between(before, after),
    )  # fmt: skip
    document = bench_record(
        tuning_request, result, replace(result.baseline, measurement=told), ORIGIN
    )
    assert_valid(document)
    assert document["energy"]["joules_per_run"] == 0.1
    assert document["quality"]["throttled"] is False
    assert document["quality"]["clock_max_mhz"] == 3000.0
