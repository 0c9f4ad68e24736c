"""Scales and shifts of channels become part of the convolution or normalisation before them."""

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

from tests.workers.backends.rewritable import scaled
from workers.backends.normalform.scales import fold_scales
from workers.engine.ports import Array


def run(model: onnx.ModelProto, x: Array) -> npt.NDArray[np.float32]:
    settings = ort.SessionOptions()
    settings.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    return np.asarray(session.run(None, {"x": x})[0], np.float32)


def without_bias(model: onnx.ModelProto) -> onnx.ModelProto:
    (convolution,) = (node for node in model.graph.node if node.op_type == "Conv")
    del convolution.input[2:]
    return model


@pytest.mark.parametrize("model", [scaled(), without_bias(scaled())], ids=["bias", "no bias"])
def test_outputs_stay(model: onnx.ModelProto) -> None:
    folded = fold_scales(model)
    onnx.checker.check_model(folded, full_check=True)
    assert [node.op_type for node in folded.graph.node] == ["BatchNormalization", "Relu", "Conv"]
    x = np.random.default_rng(0).standard_normal((2, 16, 8, 8)).astype(np.float32)
    poisoned = x.copy()
    poisoned[0, 3, 2, 2], poisoned[1, 5, 4, 4] = np.nan, np.inf
    for inputs in (x, poisoned):
        np.testing.assert_allclose(run(folded, inputs), run(model, inputs), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(1, 1, 8), (8, 1), (16, 8, 8)])
def test_what_is_not_by_channel_stays(shape: tuple[int, ...]) -> None:
    model = scaled(shape=shape)
    assert fold_scales(model) is model
