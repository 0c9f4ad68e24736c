"""What tools are asked to quantise, which of their builds are compared, what is counted."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import quantisers
from benchmarks.quantisation import exchange, tools
from benchmarks.quantisation.comparison import (
    CheckedBuild,
    Comparison,
    fastest,
    is_accepted,
    settings_of,
)
from benchmarks.served_figures import CLASSES
from tests.benchmarks.test_served import NETWORK, TARGET
from workers.backends.fake.backend import FakeBackend
from workers.engine.evaluation_context import EvaluationContext
from workers.engine.requests import SearchBudget, TuningRequest
from workers.engine.samples import MOST_ROWS, evaluation_samples
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.tune import tune
from workers.engine.types import BuildResult, Network
from workers.testing.simulation import Noise, SimulatedDevice, VirtualClock

_ERROR, _LOSS = CLASSES["within_1_percent"], CLASSES["within_half_point"]


def _checked(
    name: str, ratio: float, error: float = 0.0, accuracy: float | None = 0.9
) -> CheckedBuild:
    return CheckedBuild(name, "fake", BuildResult("measured"), error, accuracy, ratio)


def test_a_tool_counts_with_its_fastest_build_within_the_limit_or_with_the_defaults() -> None:
    default = _checked("default", 1.0)
    far = _checked("far", 0.3, error=0.0101)
    near = _checked("near", 0.6, error=0.01, accuracy=0.896)
    slow = _checked("slow", 1.2, accuracy=0.895)
    assert fastest([far, near, slow], default, _ERROR, 0.9) is near
    assert fastest([far, slow], default, _ERROR, 0.9) is default
    assert fastest([far, near], default, _LOSS, 0.9) is far
    assert fastest([slow], default, _LOSS, 0.9) is default
    assert is_accepted(slow, _LOSS, 0.9)
    assert not is_accepted(replace(near, accuracy=0.8949), _LOSS, 0.9)
    assert not is_accepted(replace(near, accuracy=None), _LOSS, 0.9)


def test_openvino_runs_a_build_in_float32_as_well_where_its_default_is_bfloat16() -> None:
    def precisions(features: frozenset[str]) -> list[Any]:
        target = replace(TARGET, features=features)
        return [options["precision"] for options in settings_of("openvino", target)]

    assert precisions(frozenset({"avx2"})) == ["float32"]
    assert precisions(frozenset({"avx512_bf16"})) == ["bfloat16", "float32"]
    assert settings_of("onnxruntime", TARGET) == ({"default": True},)


def _labelled(tmp_path: Path) -> Network:
    path = tmp_path / "samples.npz"
    rows = np.arange(80 * 8, dtype=np.float32).reshape(80, 8)
    np.savez(path, allow_pickle=False, **{"inputs/x": rows, "labels": np.arange(80) % 10})
    return replace(NETWORK, samples_path=path)


def test_tools_get_the_samples_that_no_build_is_checked_on(tmp_path: Path) -> None:
    network = _labelled(tmp_path)
    runs, labels = tools.calibration_runs(network)
    assert [run["x"].shape for run in runs] == [(1, 8)] * 20
    checked = evaluation_samples(network, MOST_ROWS)["inputs/x"]
    assert not {run["x"][0, 0] for run in runs} & set(checked[:, 0])
    assert [run["x"][0, 0] // 8 % 10 for run in runs] == list(labels)
    exchange.write_inputs(tmp_path / "inputs.npz", runs, labels)
    again, labels_again = exchange.read_inputs(tmp_path / "inputs.npz")
    assert [list(run["x"][0]) for run in again] == [list(run["x"][0]) for run in runs]
    assert list(labels_again) == list(labels)
    with pytest.raises(ValueError, match="no samples"):
        tools.calibration_runs(NETWORK)


def test_a_script_names_the_file_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs = tmp_path / "inputs.npz"
    exchange.write_inputs(inputs, [{"x": np.ones((1, 2), np.float32)}], None)
    monkeypatch.setattr("sys.argv", ["with", "half", "model.onnx", str(inputs), str(tmp_path)])
    exchange.answer({"half": lambda request: request.out / f"{len(request.runs)}.onnx"}, "numpy")
    answer = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert answer == {"entry_point": "1.onnx", "versions": {"numpy": np.__version__}}


def test_a_build_is_made_once_and_a_failure_is_kept_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interpreter of the tests does not have the tool."""
    monkeypatch.setattr(tools, "TOOLS", {"modelopt": tools.Tool((), "onnxruntime", ("max",))})
    monkeypatch.setattr(
        tools, "ENVIRONMENTS", type("Here", (), {"python_of": lambda *_: Path(sys.executable)})()
    )
    (build,) = tools.builds_of("modelopt", _labelled(tmp_path), tmp_path)
    assert not build.entry_point
    assert "No module named 'modelopt'" in build.detail
    monkeypatch.setattr(tools, "ENVIRONMENTS", None)
    assert tools.builds_of("modelopt", _labelled(tmp_path), tmp_path) == [build]
    assert "folder" not in tools.described(build)


def test_ours_is_measured_beside_each_tool_and_equal_builds_are_not() -> None:
    backend, clock = FakeBackend(), VirtualClock()
    request = TuningRequest(
        NETWORK, TARGET, ("fake",), budget=SearchBudget(seconds=60.0), reference_backend="fake"
    )
    with SimulatedDevice({"fake": backend}, NETWORK, TARGET, clock, Noise()) as device:
        result = tune(request, {"fake": backend}, device, MemoryTrialStore(), clock=clock)
        with EvaluationContext(request, backend, device, clock) as context:
            comparison = Comparison(context, 3)
            outcome = quantisers._compare(comparison, result, [])
    assert list(outcome["compared"]) == ["within_1_percent"]  # there are no labels
    ours = outcome["ours"]["within_1_percent"]
    assert ours["ratio"] < 0.8
    for pair in outcome["compared"]["within_1_percent"].values():
        assert pair["is_default"]
        assert pair["low"] <= pair["value"] <= pair["high"]
        assert pair["value"] == pytest.approx(1 / ours["ratio"], rel=0.2)
        assert pair["rounds"] >= 3 * 3
    json.dumps(outcome, allow_nan=False)


def _result(ratio: float, seconds: float, *, is_default: bool = False) -> dict[str, Any]:
    pair = {"value": ratio, "low": ratio, "high": ratio, "is_default": is_default}
    return {
        "search": {"seconds": 60.0},
        "tools": {tool: [{"seconds": seconds}, {"seconds": 1.0}] for tool in tools.TOOLS},
        "compared": {"within_1_percent": dict.fromkeys(tools.TOOLS, pair)},
    }


def test_figures_are_means_over_models_with_the_number_of_those_left_in_float32() -> None:
    models = {"one": _result(1.0, 10.0), "two": _result(4.0, 20.0, is_default=True)}
    figures = {name: each.value for name, each in quantisers.figures_of(models).items()}
    assert figures["nncf_within_1_percent"] == pytest.approx(2.0)
    assert figures["olive_within_1_percent_least"] == 1.0
    assert figures["modelopt_within_1_percent_default"] == 1
    assert figures["nncf_seconds"] == 16.0
    assert figures["ours_seconds"] == 60.0
    assert "nncf_within_half_point" not in figures
    assert quantisers.figures_of({})["models"].value == 0
