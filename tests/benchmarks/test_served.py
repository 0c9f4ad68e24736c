"""How fast models are served: what is counted, what is kept, what is left out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import served
from benchmarks.report import Figure, geometric_mean
from benchmarks.served_figures import CLASSES, best_within
from benchmarks.serving import SearchSetup, _fastest_int8, search
from hpcfair.measurement.types import Deviation, Interval
from hpcfair.precisions import Tolerance
from workers.backends.fake.backend import FakeBackend
from workers.engine.confirmation import ConfirmedResult
from workers.engine.numerics import OutputCheck
from workers.engine.search_result import SearchResult
from workers.engine.testset import TestSet
from workers.engine.trial_store import MemoryTrialStore
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Network, Outcome, TargetSpec, TensorSpec
from workers.testing.simulation import Noise, SimulatedDevice, VirtualClock

TARGET = TargetSpec("x86-64-avx2", "x86-64", frozenset({"avx2"}), 2, None)
NETWORK = Network(
    model_path=Path("model.onnx"),
    model_sha256="",
    graph_hash="graph",
    architecture_class="mlp",
    inputs=(TensorSpec("x", "float32", ("N", 8)),),
    outputs=(TensorSpec("scores", "float32", ("N", 10)),),
    operators={"Gemm": 3},
    parameters=10,
    macs=10,
)


def _setup(budget_s: float) -> SearchSetup:
    return SearchSetup(TARGET, {"fake": FakeBackend()}, {}, budget_s, 5, reference="fake")


def _searched(setup: SearchSetup) -> dict[str, Any]:
    clock = VirtualClock()
    with SimulatedDevice({"fake": FakeBackend()}, NETWORK, TARGET, clock, Noise()) as device:
        request = setup.request(NETWORK)
        return search(request, setup, device, MemoryTrialStore(), clock, lambda *_: None)


def test_each_class_is_served_its_best_build_measured_after_the_choice() -> None:
    setup = _setup(60.0)
    found = _searched(setup)
    # The samples have no labels.
    assert list(found["classes"]) == [each for each in CLASSES if each != "within_half_point"]
    exact, bf16, bf16_hub, int8, close = found["classes"].values()
    assert exact["speedup"] > 1.5
    assert exact["low"] <= exact["speedup"] <= exact["high"]
    assert exact["verdict"] == "faster"
    assert exact["search_ratio"] != 1 / exact["speedup"]
    # Nothing computes in bfloat16 here, and who accepts it accepts what is exact.
    assert bf16 == bf16_hub == exact
    assert int8["speedup"] > exact["speedup"]
    # The choice was among all accepted builds, by the search's own confirmation.
    assert int8["confirmed"]["speedup"] >= exact["confirmed"]["speedup"] > 1
    assert int8["confirmed"]["speedup"] != int8["speedup"]
    assert close["deviation"]["relative_l2"] <= 0.01
    # Trials whose baseline was off its level teach nothing.
    assert 0 < len(setup.experience) <= found["trials"]
    assert found["int8_measured"] is None  # the samples have no labels
    json.dumps(found, allow_nan=False)


def test_where_nothing_is_faster_the_baseline_is_served_and_counts_as_one() -> None:
    found = _searched(_setup(0.0))
    for build in found["classes"].values():
        assert (build["speedup"], build["low"], build["high"]) == (1.0, 1.0, 1.0)
        assert build["options"] == FakeBackend().default(NETWORK, TARGET)


def _confirmed_result(
    tolerance: Tolerance, ratio: float, error: float, accuracy: float
) -> ConfirmedResult:
    build = BuildResult("measured", tolerance=tolerance)
    measured = Measurement((), Interval(ratio, ratio, ratio), 1, 1, "faster")
    trial = Trial(0, Candidate("fake", {"error": error}), "test", "measured", 1.0, build)
    deviation = Deviation(error, error, error, 1.0)
    return ConfirmedResult(trial, build, measured, OutputCheck(deviation, accuracy, 1))


def test_a_figure_counts_the_builds_within_its_limits() -> None:
    exact = _confirmed_result("exact", 0.9, 1e-6, 0.95)
    close = _confirmed_result("bf16", 0.5, 0.008, 0.95)
    far = _confirmed_result("bf16", 0.3, 0.03, 0.94)
    mixed = _confirmed_result("int8", 0.4, 0.01, 0.945)
    int8 = _confirmed_result("int8", 0.2, 0.05, 0.94)
    tests = TestSet((), None, {}, "random", 0)
    result = SearchResult((), (exact, close, far, mixed, int8), exact, tests, 0.95, "")
    best = [exact, close, far, int8, mixed, mixed]
    assert [best_within(result, accepted) for accepted in CLASSES.values()] == best


def _int8(ratio: float, outcome: Outcome, accuracy: float | None) -> Trial:
    measured = Measurement((), Interval(ratio, ratio, ratio), 1, 1, "slower")
    candidate = Candidate("fake", {"number": ratio})
    build = BuildResult("measured", tolerance="int8")
    return Trial(0, candidate, "test", outcome, 1.0, build, accuracy=accuracy, measurement=measured)


def test_the_accuracy_of_int8_is_that_of_the_fastest_build_that_works() -> None:
    """Although nobody is served it where it is slower than float32."""
    trials = [
        _int8(1.3, "measured", 0.7), _int8(1.1, "pruned", 0.88), _int8(0.9, "pruned", None),
        replace(_int8(0.5, "measured", 0.9), build=BuildResult("measured")),
        _int8(0.4, "wrong-output", 0.2),
    ]  # fmt: skip
    found = _fastest_int8(trials)
    assert found is not None
    assert (found["accuracy"], found["options"]) == (0.88, {"number": 1.1})
    assert _fastest_int8(trials[2:]) is None


def test_a_geometric_mean_is_of_logarithms_and_narrower_than_its_parts() -> None:
    figure = geometric_mean([Figure(1.0, 0.5, 2.0, "ratio"), Figure(4.0, 2.0, 8.0, "ratio")])
    assert figure.value == pytest.approx(2.0)
    assert figure.high == pytest.approx(2.0 * 2 ** (2**0.5 / 2))
    assert figure.low == pytest.approx(2.0 / 2 ** (2**0.5 / 2))
    with pytest.raises(ValueError, match="no figures"):
        geometric_mean([])


def _found(exact: float, int8: float, accuracy: float | None) -> dict[str, Any]:
    def build(speedup: float) -> dict[str, Any]:
        return {
            "backend": "fake", "speedup": speedup, "low": speedup, "high": speedup,
            "accuracy": 0.9, "measurement": {"blocks": [1, 2, 3]},
        }  # fmt: skip

    labelled = accuracy is not None
    return {
        "trials": 3, "seconds": 1.0, "reference_accuracy": 0.9 if labelled else None,
        "classes": {
            figure: build(int8 if figure == "int8" else exact)
            for figure, accepted in CLASSES.items()
            if labelled or accepted.points_lost is None
        },
        # The fastest in int8 was slower than the baseline, which is served instead.
        "int8_measured": {"speedup": 0.8, "accuracy": accuracy} if labelled else None,
    }  # fmt: skip


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """What the searches come to; emptied as they are made."""
    found = {"one": _found(1.0, 2.0, 0.895), "two": _found(4.0, 8.0, None)}
    monkeypatch.setattr(served, "search_and_measure", lambda name, *_: found.pop(name))
    monkeypatch.setattr(served, "add_stored_trials", lambda *_: None)
    monkeypatch.setattr(served, "example", lambda *_: None)
    monkeypatch.setattr(served, "_setup", lambda *_: _setup(1.0))
    return found


def _run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> Any:
    monkeypatch.setattr("sys.argv", ["served", "--models", "one,two", *args])
    served.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_figures_are_means_over_models_and_their_worst(
    found: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    document = _run(monkeypatch, capsys, "--cache", str(tmp_path))
    figures = {name: figure["value"] for name, figure in document["figures"].items()}
    assert figures == pytest.approx(
        {
            "exact": 2.0,
            "exact_least": 1.0,
            "int8": 4.0,
            "int8_least": 2.0,
            "within_1_percent": 2.0,
            "within_1_percent_least": 1.0,
            # Of the model with labels alone.
            "within_half_point": 1.0,
            "within_half_point_least": 1.0,
            "int8_accuracy_lost": 0.5,
            "models": 2,
        }
    )
    assert "no arithmetic in bfloat16" in document["environment"]["bf16"]
    assert document["details"]["one"]["classes"]["exact"]["backend"] == "fake"
    assert "measurement" not in document["details"]["one"]["classes"]["exact"]
    assert str(tmp_path) not in json.dumps(document)


def test_an_interrupted_run_goes_on_and_a_fresh_one_forgets(
    found: dict[str, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    second = found.pop("two")
    with pytest.raises(KeyError, match="two"):
        _run(monkeypatch, capsys, "--cache", str(tmp_path))
    found["two"] = second
    document = _run(monkeypatch, capsys, "--cache", str(tmp_path))
    assert document["figures"]["models"]["value"] == 2
    with pytest.raises(KeyError, match="one"):
        _run(monkeypatch, capsys, "--cache", str(tmp_path), "--fresh")
