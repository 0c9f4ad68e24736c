"""The digits perceptron as TensorFlow Lite files, beside the ONNX file they are compared with."""

from pathlib import Path

import numpy as np
import pytest

from hpcfair.runtimes import registry
from tests.programs import needs
from workers.inspection.inspect import inspect

pytestmark = [needs("ai_edge_litert"), pytest.mark.slow]


def test_both_files_are_forms_of_the_network(digits_mlp_folder: Path) -> None:
    found = inspect(str(digits_mlp_folder))
    assert found["warnings"] == []
    assert found["graphs"][0]["forms"] == [
        {"format": "tflite", "path": "model-int8.tflite"},
        {"format": "tflite", "path": "model.tflite"},
    ]


@pytest.mark.parametrize(("name", "strays"), [("model.tflite", 1e-5), ("model-int8.tflite", 5e-2)])
def test_int8_reads_digits_within_one_point_of_float32(
    digits_mlp_folder: Path, name: str, strays: float
) -> None:
    runtime = registry.open("litert", digits_mlp_folder / name, {"threads": "one"})
    with np.load(digits_mlp_folder / "samples.npz") as samples:
        logits = runtime.run({"pixels": samples["inputs/pixels"]})["logits"]
        expected, labels = samples["outputs/logits"], samples["labels"]
    assert np.linalg.norm(logits - expected) / np.linalg.norm(expected) < strays
    lost = np.mean(expected.argmax(axis=1) == labels) - np.mean(logits.argmax(axis=1) == labels)
    assert lost <= 0.01
