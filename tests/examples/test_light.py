"""Architectures with seeded weights: nothing to fold away, nothing dying or growing."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
import yaml

from examples.models import light
from workers.inspection.inspect import inspect

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def squeezenet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return light.make("squeezenet", tmp_path_factory.mktemp("light") / "squeezenet")


def test_every_architecture_is_in_the_wheel_and_loads() -> None:
    for stem, _, _ in light.ARCHITECTURES.values():
        model = light.load(stem)
        (data,) = model.graph.input
        assert data.type.tensor_type.shape.dim[0].dim_param == "N"
        assert model.opset_import[0].version == light.OPSET


def test_no_weight_is_left_to_fold_away(squeezenet: Path) -> None:
    model = onnx.load(squeezenet / "model.onnx")
    assert all(node.op_type != "ConstantOfShape" for node in model.graph.node)
    weights = [
        onnx.numpy_helper.to_array(t)
        for t in model.graph.initializer
        if t.data_type == onnx.TensorProto.FLOAT
    ]
    assert sum(weight.size for weight in weights) == 1_235_496
    assert all(weight.std() > 0 for weight in weights)
    assert {value.name for value in model.graph.input} == {"data_0"}


def test_signals_keep_a_sane_size_through_all_layers(squeezenet: Path) -> None:
    model = onnx.load(squeezenet / "model.onnx")
    convolutions = [node.output[0] for node in model.graph.node if node.op_type == "Conv"]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in convolutions)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    with np.load(squeezenet / "samples.npz") as samples:
        found = session.run(convolutions, {"data_0": samples["inputs/data_0"]})
    for value in found:
        assert 0.2 < value.std() < 20


def test_outputs_tell_inputs_apart(squeezenet: Path) -> None:
    with np.load(squeezenet / "samples.npz") as samples:
        (name,) = [key for key in samples.files if key.startswith("outputs/")]
        first, second = samples[name][:2].reshape(2, -1)
    assert np.isfinite([first, second]).all()
    assert np.abs(first - second).max() > 0.1 * first.max()
    assert first.max() > 5 * first.mean()


def test_batches_of_any_size_run_and_rows_do_not_mix(squeezenet: Path) -> None:
    session = onnxruntime.InferenceSession(squeezenet / "model.onnx")
    with np.load(squeezenet / "samples.npz") as samples:
        images = samples["inputs/data_0"]
    together = session.run(None, {"data_0": np.concatenate([images, images[:1]])})[0]
    alone = session.run(None, {"data_0": images[:1]})[0]
    np.testing.assert_allclose(together[0], alone[0], rtol=1e-3)
    np.testing.assert_allclose(together[-1], alone[0], rtol=1e-3)


def test_the_hub_finds_what_the_example_says(squeezenet: Path) -> None:
    found = inspect(str(squeezenet))
    (graph,) = found["graphs"]
    assert graph["architecture_class"] == "plain-cnn"
    assert graph["macs"] == 349_151_936
    assert found["samples"]["fits"]
    assert not found["samples"]["labels"]
    assert found["warnings"] == []


def test_the_card_says_that_it_classifies_nothing(squeezenet: Path) -> None:
    text = (squeezenet / "README.md").read_text()
    card = yaml.safe_load(text.split("---\n")[1])
    assert card["license"] == "apache-2.0"
    assert "untrained" in card["tags"]
    assert "classifies nothing" in text


def test_residual_sums_and_normalisations_settle_too(tmp_path: Path) -> None:
    out = light.make("shufflenet", tmp_path)
    with np.load(out / "samples.npz") as samples:
        (name,) = [key for key in samples.files if key.startswith("outputs/")]
        assert samples[name].max() < 0.99


def test_equal_seeds_give_equal_pictures() -> None:
    first, second = (light.images(np.random.default_rng(3), 2, (3, 16, 16)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(first.std(axis=(1, 2, 3)), 1, rtol=1e-5)
    np.testing.assert_allclose(first.mean(axis=(1, 2, 3)), 0, atol=1e-5)
