"""Which sets are drawn, and what counts as built, right, faster and refused."""

import json
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from benchmarks import coverage
from benchmarks.coverage_exclusions import exclusion_of
from benchmarks.coverage_summary import cells_of, figures_of, refusals_of
from benchmarks.coverage_trials import CoverageSetup, cover
from benchmarks.exports import torch_other, torch_vision, trained
from benchmarks.exports.catalogue import architectures
from benchmarks.exports.drawing import OPSETS, Export, draw
from benchmarks.exports.folders import NotExported, _difference, folder_of
from benchmarks.exports.live import signals
from benchmarks.exports.sizes import ORDINARY, SMALL, Sizes
from benchmarks.exports.torch_model import TorchModel
from benchmarks.exports.write import _write_samples
from workers.backends import registry
from workers.fleet.probe import this_machine

PYTHON = Path(sys.executable)


def _trial(outcome: str = "measured", precision: str = "float32", **more: Any) -> dict[str, Any]:
    is_built = outcome in {"measured", "wrong-output", "crash"}
    start = {"precision": precision, "options": {}, "outcome": outcome, "detail": ""}
    return start | {"is_built": is_built, "tolerance": "exact"} | more


def _results(**backends: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {name: {"excluded": "", "trials": trials} for name, trials in backends.items()}


def test_a_seed_draws_all_ways_to_export_and_another_one_draws_others() -> None:
    exports = draw(0)
    assert len(exports) == len(list(architectures())) >= 40
    assert exports == draw(0)
    assert [each.name for each in draw(0, 20)] == [each.name for each in exports[:20]]
    others = {each.name: each for each in draw(1)}
    assert sum(others[e.name].exporter != e.exporter for e in exports) > 5
    assert all(others[e.name].seed != e.seed for e in exports)
    assert draw(1)[:20] != exports[:20]
    for exporter in ("torchscript", "dynamo"):
        own = [each for each in exports if each.exporter == exporter]
        assert len(own) > 20
        assert {each.opset for each in own} == set(OPSETS[exporter])
        dynamic = sum(each.is_dynamic for each in own)
        assert abs(2 * dynamic - len(own)) <= 1
    assert len({each.slug for each in exports}) == len(exports)
    assert {each.family for each in draw(0, None, ["boosted"])} == {"boosted"}


def test_a_scale_changes_sizes_and_neither_the_set_nor_the_ways_to_export() -> None:
    small, ordinary = draw(0, 20), draw(0, 20, scale=ORDINARY)
    assert [replace(each, scale=SMALL) for each in ordinary] == small
    # Exports of both are kept in one cache.
    assert {each.slug for each in small}.isdisjoint(each.slug for each in ordinary)


def _sizes(scale: str) -> Sizes:
    return Sizes(random.Random(0), scale)  # noqa: S311


def _work(model: TorchModel) -> int:
    """About proportional to the work of a network: weights times numbers that a sample has."""
    weights = sum(parameter.numel() for parameter in model.module.parameters())
    return weights * sum(samples[0].size for samples in model.inputs.values())


@pytest.mark.parametrize(
    "make",
    [
        *(torch_vision.depthwise_cnn, torch_vision.mlp_mixer),
        *(torch_other.gru_classifier, torch_other.spectral_surrogate),
    ],
)
def test_an_ordinary_network_has_several_times_the_work_of_a_small_one(
    make: Callable[[Sizes], TorchModel],
) -> None:
    assert _work(make(_sizes(ORDINARY))) > 10 * _work(make(_sizes(SMALL)))


def test_ordinary_pictures_differ_after_pooling() -> None:
    def pooled(scale: str) -> float:
        pictures = signals(np.random.default_rng(0), scale, (3, 90, 70), (2, 3))
        assert pictures.shape == (16, 3, 90, 70)
        assert pictures.std() == pytest.approx(1, abs=0.2)
        return float(pictures.mean(axis=(2, 3)).std())

    assert pooled(SMALL) < 0.03
    assert pooled(ORDINARY) > 0.2


def test_batch_normalisations_may_have_the_statistics_of_the_samples() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, affine=False))
    rows = 3 + 5 * np.random.default_rng(0).standard_normal((16, 6)).astype(np.float32)
    (outputs,) = TorchModel(module, {"row": rows}, ["output"], is_normalised=True).outputs()
    np.testing.assert_allclose(outputs.mean(axis=0), 0, atol=1e-5)
    np.testing.assert_allclose(outputs.std(axis=0, ddof=1), 1, atol=1e-4)


def test_an_ordinary_network_is_exported(tmp_path: Path) -> None:
    export = Export(
        "dense_graph_cnn", "torch_other", 0, "torchscript", 18, is_dynamic=False, scale=ORDINARY
    )
    folder = folder_of(export, tmp_path, PYTHON)
    with np.load(folder / "samples.npz") as archive:
        assert archive["inputs/nodes"].shape[1] >= 256


def test_a_cell_counts_what_any_of_its_configurations_reaches() -> None:
    results = {
        "one": _results(
            a=[
                _trial(),
                _trial("wrong-output", "int8", detail="relative_l2 is 0.31, int8 allows 0.2"),
                _trial("measured", "int8", tolerance="int8", ratio=[0.5, 0.4, 0.6]),
            ],
            b=[_trial("invalid", detail="no operator 'GRU' at /model.onnx")],
        ),
        "two": _results(
            a=[_trial(ratio=[0.99, 0.9, 1.02]), _trial("not-tried", "int8")],
            b=[_trial("invalid", detail="no operator 'LSTM' at /other.onnx")],
        ),
        "three": _results(a=[_trial("wrong-output")], b=[_trial(ratio=[0.5, 0.4, 0.99])]),
    }
    cells = cells_of(results)
    # What was not tried is no cell.
    assert len(cells) == 7
    figures = {name: figure.value for name, figure in figures_of(cells, results).items()}
    assert figures["built_fraction"] == pytest.approx(5 / 7)
    assert figures["right_fraction"] == pytest.approx(4 / 5)
    assert figures["helped_fraction"] == pytest.approx(2 / 3)
    assert figures["helped_exact_fraction"] == pytest.approx(1 / 3)
    assert figures["built_a"] == 1
    assert figures["built_b"] == pytest.approx(1 / 3)
    assert figures_of(cells, results)["built_fraction"].low == pytest.approx(1 / 3)
    refusals = refusals_of(cells)
    # Equal causes are one reason; one that another configuration makes up for comes last.
    assert refusals[0]["networks"] == ["one", "two"]
    assert refusals[0]["cells_lost"] == 2
    assert refusals[-1]["cells_lost"] == 0
    assert refusals[-1]["precision"] == "int8"


def test_what_documentation_excludes_is_no_refusal() -> None:
    assert "Loop" in exclusion_of("tvm", {"Loop": 1, "Gemm": 2})
    assert "TreeEnsembleClassifier" in exclusion_of(
        "openvino", {"ai.onnx.ml::TreeEnsembleClassifier": 1}
    )
    assert not exclusion_of("openvino", {"LSTM": 1})
    assert not exclusion_of("tvm", {"Conv": 1, "LSTM": 1})


def test_a_network_that_the_hub_refuses_is_refused_by_all(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"no network")
    here = this_machine().spec
    backends, _ = registry.available(here, ["onnxruntime"])
    setup = CoverageSetup(here, backends, "onnxruntime", 0.1, 60.0, 60.0, tmp_path)
    results = cover("broken", tmp_path, setup)
    (trial,) = results["onnxruntime"]["trials"]
    assert "inspection refuses" in trial["detail"]
    assert not cells_of({"broken": results})[0].is_built
    # An interrupted run continues from what is stored.
    (tmp_path / "model.onnx").unlink()
    assert cover("broken", tmp_path, setup) == results


def test_an_export_that_computes_something_else_is_no_fault_of_a_backend(tmp_path: Path) -> None:
    export = draw(0, 1, ["torch_other"])[0]
    folder = folder_of(export, tmp_path, PYTHON)
    with np.load(folder / "samples.npz") as archive:
        arrays = {name: archive[name] for name in archive.files}
    changed = {n: a + 0.1 if n.startswith("outputs/") else a for n, a in arrays.items()}
    assert not _difference(folder)
    np.savez(folder / "samples.npz", **changed)  # type: ignore[arg-type]
    assert "exact allows" in _difference(folder)["reason"]
    unknown = type(export)("no_such_network", "torch_other", 0, "dynamo", 20, is_dynamic=False)
    for _ in range(2):
        with pytest.raises(NotExported, match="no_such_network") as refusal:
            folder_of(unknown, tmp_path, PYTHON)
        assert refusal.value.step == "build"


def test_trained_networks_keep_their_weights_and_know_the_right_answers(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    module = nn.Sequential(nn.Conv2d(3, 8, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10))
    monkeypatch.setattr(trained, "_EPOCHS", 2)
    model = trained._trained(module, _sizes(SMALL))
    (logits,) = model.outputs()
    assert model.labels is not None
    # Of ten classes.
    assert (logits.argmax(axis=1) == model.labels).mean() > 0.2
    export = Export("tiny", "trained", 0, "torchscript", 17, is_dynamic=True)
    model.write(export, tmp_path)
    _write_samples(model, [logits], tmp_path)
    assert not _difference(tmp_path)
    with np.load(tmp_path / "samples.npz") as archive:
        assert archive["labels"].tolist() == model.labels.tolist()


def test_layers_of_transformers_are_exported_by_torchscript(tmp_path: Path) -> None:
    pictures = np.zeros((16, 3, 48, 48), np.float32)
    module = trained._Patches(48, 32, 1, 4)
    model = TorchModel(module, {"image": pictures}, ["logits"], gain=None)
    model.write(Export("tiny", "trained", 0, "torchscript", 20, is_dynamic=False), tmp_path)
    assert (tmp_path / "model.onnx").exists()


@pytest.mark.slow
def test_two_networks_are_exported_built_checked_and_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["coverage", "--quick", "--busy", "--families", "torch_other", "--seed", "2"]
    command += ["--backends", "onnxruntime", "--cache", str(tmp_path)]
    monkeypatch.setattr("sys.argv", [*command, "--exporters", sys.executable])
    coverage.main()
    document = json.loads(capsys.readouterr().out.splitlines()[-1])
    details = document["details"]
    assert not details["not_exported"]
    networks = details["networks"]
    assert len(networks) == 2
    # One is exported by each exporter, and the program of one is published beside it.
    assert {"-dynamo-" in slug for slug in networks} == {True, False}
    assert len(list(tmp_path.glob("exports/*/model.pt2"))) == 1
    for backends in networks.values():
        trials = backends["onnxruntime"]["trials"]
        assert trials[0]["options"] == {"default": True}
        optimised = next(t for t in trials[1:] if t["precision"] == "float32")
        assert optimised["outcome"] == "measured"
        assert optimised["deviation"]["relative_l2"] < 1e-4
        assert optimised["ratio"][1] <= optimised["ratio"][0] <= optimised["ratio"][2]
        assert any(t["precision"].startswith("int8") and t["is_built"] for t in trials)
    cells = cells_of(networks)
    assert all(cell.is_built and cell.is_right for cell in cells if cell.precision == "float32")
    # ONNX Runtime may refuse a precision, but then says why.
    refused = {(cell.network, cell.precision) for cell in cells if not cell.is_built}
    reasons = {(n, r["precision"]) for r in details["refusals"] for n in r["networks"]}
    assert refused <= reasons
    figures = document["figures"]
    built = 1 - len(refused) / len(cells)
    assert figures["built_onnxruntime"]["value"] == pytest.approx(built)
    assert figures["networks"]["value"] == 2
    assert 0 < figures["built_fraction"]["value"] <= 1
    assert str(tmp_path) not in json.dumps(document)
