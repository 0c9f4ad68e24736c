"""Builds of Olive's passes for ONNX networks on CPUs, by its workflows.

https://microsoft.github.io/Olive/features/quantization.html. Two parts of Olive 0.13 are not here.
``SelectiveMixedPrecision`` takes PyTorch models of Hugging Face only (``HfModelHandler`` in its
source). Its search cannot keep to an error: a workflow with a metric of type ``custom`` ends in
``Metric.serialize_backend``, because the metric has no backend.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shutil import copyfile
from typing import Any

import torch
from olive.data.registry import Registry
from olive.workflows import run

from benchmarks.quantisation.exchange import (
    Inputs,
    Request,
    answer,
    read_inputs,
    write_inputs,
)

_SYSTEM = {
    "type": "LocalSystem",
    "accelerators": [{"device": "cpu", "execution_providers": ["CPUExecutionProvider"]}],
}
_DATA = "calibration"


class Runs(torch.utils.data.Dataset[Any]):
    """Calibration inputs as a dataset of batches."""

    def __init__(self, runs: list[Inputs]) -> None:
        self._runs = runs

    def __len__(self) -> int:
        return len(self._runs)

    def __getitem__(self, number: int) -> tuple[dict[str, Any], int]:
        run = self._runs[number]
        return {name: torch.from_numpy(array) for name, array in run.items()}, 0


def calibration_inputs(path: str) -> Runs:
    """The runs of an inputs file."""
    return Runs(read_inputs(Path(path))[0])


def quantise(request: Request, settings: Mapping[str, Any]) -> Path:
    """The output of one pass."""
    inputs = request.out / "inputs.npz"
    write_inputs(inputs, request.runs, request.labels)
    data = {
        "name": _DATA,
        "type": "DataContainer",
        "load_dataset_config": {"type": calibration_inputs.__name__, "path": str(inputs)},
        "pre_process_data_config": {"type": "skip_pre_process"},
        "post_process_data_config": {"type": "skip_post_process"},
        "dataloader_config": {"type": "no_auto_batch_dataloader"},
    }
    config = {
        "input_model": {"type": "OnnxModel", "model_path": str(request.model)},
        "systems": {"here": _SYSTEM},
        "data_configs": [data],
        "passes": {"quantisation": {**settings, "data_config": _DATA}},
        "host": "here",
        "target": "here",
        "cache_dir": str(request.out / "cache"),
        "output_dir": str(request.out / "output"),
    }
    best = run(config).get_best_candidate()
    path = request.out / "model.onnx"
    copyfile(best.model_path, path)
    return path


if __name__ == "__main__":
    Registry.register_dataset(calibration_inputs.__name__)(calibration_inputs)
    static = {"type": "OnnxStaticQuantization"}
    answer(
        {
            "static": partial(quantise, settings=static),
            "per_channel": partial(quantise, settings={**static, "per_channel": True}),
            "dynamic": partial(quantise, settings={"type": "OnnxDynamicQuantization"}),
        },
        *("olive-ai", "onnxruntime"),
    )
