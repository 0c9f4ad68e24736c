"""Builds of NNCF for OpenVINO, as its documentation shows them.

``quantize`` and ``quantize_with_accuracy_control`` of
https://docs.openvino.ai/2026/openvino-workflow/model-optimization-guide/quantizing-models-post-training.html.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quantisation.exchange import Array, Request, answer

# Both packages report their use by this one, unless it cannot be imported.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]

import nncf  # noqa: E402
import openvino as ov  # noqa: E402

#: Error and loss of accuracy that the accuracy control is asked to keep to.
_ERROR, _LOSS = 0.01, 0.005
_Score = Callable[[list[Array]], float]


def published(request: Request) -> Path:
    """The network as OpenVINO reads it, in float32."""
    return _saved(ov.convert_model(request.model), request)


def quantize(request: Request) -> Path:
    """Everything in int8, with the defaults."""
    model = ov.convert_model(request.model)
    quantized = nncf.quantize(model, nncf.Dataset(request.runs), model_type=_model_type(request))
    return _saved(quantized, request)


def within_error(request: Request) -> Path:
    """With accuracy control; the measure of accuracy is one less the relative error."""
    model = ov.convert_model(request.model)
    expected = _outputs(
        ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}), request
    )
    norm = np.sqrt(sum(float(np.vdot(each, each)) for each in expected))

    def score(outputs: list[Array]) -> float:
        squares = (
            np.sum((a - b) ** 2, dtype=np.float64) for a, b in zip(outputs, expected, strict=True)
        )
        return float(1 - np.sqrt(sum(squares)) / norm)

    return _controlled(request, model, score, _ERROR)


def within_loss(request: Request) -> Path:
    """With accuracy control, by the share of samples whose class is right."""
    labels = request.labels

    def score(outputs: list[Array]) -> float:
        return float(np.mean(np.concatenate(outputs).argmax(axis=1) == labels))

    return _controlled(request, ov.convert_model(request.model), score, _LOSS)


def _controlled(request: Request, model: Any, score: _Score, max_drop: float) -> Path:
    def validate(compiled: Any, _: Any) -> tuple[float, None]:
        return score(_outputs(compiled, request)), None

    dataset = nncf.Dataset(request.runs)
    quantized = nncf.quantize_with_accuracy_control(
        model,
        calibration_dataset=dataset,
        validation_dataset=dataset,
        validation_fn=validate,
        max_drop=max_drop,
        drop_type=nncf.DropType.ABSOLUTE,
        model_type=_model_type(request),
    )
    return _saved(quantized, request)


def _outputs(compiled: Any, request: Request) -> list[Array]:
    """The first output of each run."""
    return [np.array(compiled(run)[0]) for run in request.runs]


def _model_type(request: Request) -> Any:
    return nncf.ModelType.TRANSFORMER if request.is_transformer else None


def _saved(model: Any, request: Request) -> Path:
    path = request.out / "model.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    return path


if __name__ == "__main__":
    answer(
        {
            "published": published,
            "quantize": quantize,
            "within_error": within_error,
            "within_loss": within_loss,
        },
        *("nncf", "openvino"),
    )
