"""The trained examples: real accuracy, honest cards, samples nobody trained on."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import yaml

from examples.models.digits import HELD_OUT, digits_cnn, split
from examples.models.training import (
    conv3x3,
    dense,
    he_normal,
    max_pool2,
    neighbourhoods,
    train,
    zeros,
)
from workers.inspection.inspect import inspect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def digits_cnn_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return digits_cnn(tmp_path_factory.mktemp("digits") / "out")


@pytest.fixture(scope="module", params=["cnn", "mlp"])
def folder(request: pytest.FixtureRequest) -> Path:
    made: Path = request.getfixturevalue(f"digits_{request.param}_folder")
    return made


def _scores(folder: Path, images: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    (tensor,) = session.get_inputs()
    rows = images.reshape(-1, *tensor.shape[1:]).astype(np.float32)
    return np.asarray(session.run(None, {tensor.name: rows})[0])


def test_it_reads_digits_it_has_not_seen(folder: Path) -> None:
    with np.load(folder / "samples.npz") as samples:
        (name,) = [key for key in samples.files if key.startswith("inputs/")]
        images, labels = samples[name], samples["labels"]
    assert len(labels) == HELD_OUT
    assert (_scores(folder, images).argmax(axis=1) == labels).mean() >= 0.97


def test_no_published_sample_was_trained_on() -> None:
    data = split(0)
    trained = {image.tobytes() for image in data.train_images}
    assert not trained & {image.tobytes() for image in data.test_images}
    assert set(data.test_labels) == set(range(10))


def test_both_halves_of_the_samples_hold_every_digit() -> None:
    labels = split(0).test_labels
    for half in (labels[: HELD_OUT // 2], labels[HELD_OUT // 2 :]):
        assert np.bincount(half, minlength=10).min() >= 10


def test_the_published_outputs_are_the_networks_own(folder: Path) -> None:
    with np.load(folder / "samples.npz") as samples:
        (name,) = [key for key in samples.files if key.startswith("inputs/")]
        np.testing.assert_allclose(
            _scores(folder, samples[name]), samples["outputs/logits"], rtol=1e-4, atol=1e-4
        )


def test_the_card_states_the_measured_accuracy(folder: Path) -> None:
    _, front, body = (folder / "README.md").read_text().split("---\n", 2)
    card = yaml.safe_load(front)
    with np.load(folder / "samples.npz") as samples:
        measured = (samples["outputs/logits"].argmax(axis=1) == samples["labels"]).mean()
    (result,) = card["model-index"][0]["results"]
    assert result["metrics"][0]["value"] == pytest.approx(measured, abs=1e-4)
    assert card["license"] == "apache-2.0"
    assert card["pipeline_tag"] == "image-classification"
    assert len(card["description"]) >= 50
    assert "must not be used to measure its accuracy" in body


def test_the_hub_finds_what_the_example_says(folder: Path) -> None:
    found = inspect(str(folder))
    (graph,) = found["graphs"]
    assert graph["architecture_class"] in {"plain-cnn", "mlp"}
    assert graph["signature"]["inputs"][0]["shape"][0] == "N"
    assert found["samples"]["fits"]
    assert found["samples"]["labels"]
    assert found["warnings"] == []
    onnx.checker.check_model(str(folder / "model.onnx"), full_check=True)


def test_equal_seeds_give_equal_networks() -> None:
    trained = [
        train(
            lambda p, x: dense(x, *p),
            [he_normal(rng, (64, 10), 64), zeros(10)],
            split(0).train_images.reshape(-1, 64),
            split(0).train_labels,
            rng=rng,
            epochs=1,
        )[0]
        for rng in map(np.random.default_rng, (1, 1, 2))
    ]
    np.testing.assert_array_equal(trained[0], trained[1])
    assert np.abs(trained[0] - trained[2]).max() > 0.01


def test_the_gradient_of_the_convolution_is_its_adjoint() -> None:
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=(2, 4, 4, 3)), rng.normal(size=(2, 4, 4, 27))
    from examples.models.training import _scatter  # noqa: PLC0415

    assert np.vdot(neighbourhoods(x), g) == pytest.approx(np.vdot(x, _scatter(g, x)))


def test_training_and_export_compute_the_same_convolution() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1, 4, 4, 2))
    weight, bias = rng.normal(size=(3, 3, 2, 5)), rng.normal(size=5)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    direct = np.array(
        [
            [np.tensordot(padded[0, r : r + 3, c : c + 3], weight, 3) + bias for c in range(4)]
            for r in range(4)
        ]
    )
    np.testing.assert_allclose(conv3x3(x, weight, bias)[0], direct)
    np.testing.assert_allclose(max_pool2(x)[0, 0, 0], x[0, :2, :2].max(axis=(0, 1)))
