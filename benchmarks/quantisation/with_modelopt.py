"""Builds of NVIDIA Model Optimizer's ONNX quantisation, calibrated on the CPU.

https://nvidia.github.io/Model-Optimizer/guides/_onnx_quantization.html. What is not quantised stays
in float32: the default, float16, is for GPUs.
"""

from functools import partial
from pathlib import Path

import numpy as np
from modelopt.onnx.quantization import quantize

from benchmarks.quantisation.exchange import Request, answer


def calibrated(request: Request, method: str) -> Path:
    """Quantised to int8 with ranges by ``method``, ``entropy`` or ``max``."""
    path = request.out / "model.onnx"
    names = request.runs[0]
    quantize(
        str(request.model),
        quantize_mode="int8",
        calibration_data={n: np.concatenate([run[n] for run in request.runs]) for n in names},
        calibration_method=method,
        calibration_eps=["cpu"],
        high_precision_dtype="fp32",
        output_path=str(path),
    )
    return path


if __name__ == "__main__":
    answer(
        {method: partial(calibrated, method=method) for method in ("entropy", "max")},
        *("nvidia-modelopt", "onnxruntime-gpu"),
    )
