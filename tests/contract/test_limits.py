"""Limits on outputs at a live hub: which build is loaded, and what a looser limit would bring."""

import logging
from collections.abc import Callable

import numpy as np
import pytest

from hpcfair import hints, machine
from hpcfair.client import Client
from hpcfair.errors import Invalid
from hpcfair.resolution import PlainModelWarning
from registry.tables import Build, MLModel, Target
from tests.factories import store, tiny_onnx
from tests.hub.api.scene import Scene, tuned

X = np.ones((2, 3), np.float32)


@pytest.fixture
def scene(data_dir: object, galaxy: MLModel) -> Scene:
    """``lab/galaxy-cnn`` with two builds for this machine that run: the baseline, and an int8 one
    that is twice as fast."""
    scene = tuned(galaxy)
    blob = store(tiny_onnx(features=3, classes=10))
    for build in (scene.baseline, scene.fast):
        build.files.update(path="model.onnx", blob=blob)
    # What was signed are other files.
    Build.objects.update(entry_point="model.onnx", runtime_options={"default": True}, envelope=None)
    Build.objects.filter(pk=scene.fast.pk).update(
        tolerance="int8",
        deviation={"max_absolute": 0.9, "max_relative": 0.03, "relative_l2": 0.014},
        accuracy=0.97,
        accuracy_reference=0.98,
    )
    Target.objects.update(architecture=machine.describe().architecture, features=[])
    return scene


def test_a_limit_chooses_the_build(client_of: Callable[..., Client], scene: Scene) -> None:
    client = client_of()
    fast, baseline = str(scene.fast.uuid), str(scene.baseline.uuid)

    for limits, uuid in (
        ({}, baseline),
        ({"tolerance": "int8"}, fast),
        ({"tolerance": 0.02}, fast),
        ({"min_accuracy": 0.97}, fast),
    ):
        with client.load(scene.name, **limits) as model:  # type: ignore[arg-type]
            assert model.build is not None
            assert model.build.uuid == uuid
            assert model(X).shape == (2, 10)
    for strict, limit in (
        ({"tolerance": 0.001}, "within a relative error of 0.001"),
        ({"min_accuracy": 0.975}, "with an accuracy of at least 0.975"),
    ):
        with pytest.warns(PlainModelWarning, match=f"There is no build {limit}"):
            assert client.load(scene.name, **strict).build is None  # type: ignore[arg-type]


def test_a_looser_class_is_recommended_in_one_line_and_explained_in_full(
    client_of: Callable[..., Client],
    scene: Scene,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv("HPCFAIR_QUIET")
    monkeypatch.setattr(hints, "_models_with_hint", set())
    caplog.set_level(logging.WARNING, "hpcfair.hints")

    text = client_of().load(scene.name).explain()

    costs = "answers differ by 1.4 %, accuracy 97.0 of 98.0 %; tolerance='int8'"
    lines = [record.getMessage() for record in caplog.records if record.name == "hpcfair.hints"]
    assert lines == [f"{scene.name}: int8 would be 2 times as fast, {costs}"]
    sentence = "int8 by onnxruntime: 2 times as fast as the runtime's defaults, 3 ms median"
    assert f"{sentence}, {costs}" in text


def test_a_limit_out_of_range_is_refused_by_the_hub(
    client_of: Callable[..., Client], scene: Scene
) -> None:
    path = f"/api/v1/models/{scene.name}/resolve"
    with pytest.raises(Invalid, match="min_accuracy"):
        client_of().http.post(
            path,
            {"machine": {"architecture": "x", "features": []}, "runtimes": {}, "min_accuracy": 97},
        )
