"""Profiles that the real tools write, of a network in a file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime


def onnxruntime_trace(
    model: Path, inputs: Mapping[str, Any], *, runs: int = 4, optimise: bool = True
) -> bytes:
    """A trace of ONNX Runtime's profiler."""
    options = onnxruntime.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(model.with_suffix(".trace"))
    options.intra_op_num_threads = 1
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    for _ in range(runs):
        session.run(None, dict(inputs))
    return Path(session.end_profiling()).read_bytes()


def openvino_report(
    model: Path, inputs: Mapping[str, Any], folder: Path, *, as_json: bool, kind: str = "detailed"
) -> bytes:
    """A report of performance counters, by the writer of OpenVINO's own benchmark_app."""
    import openvino  # noqa: PLC0415 - optional
    from openvino.tools.benchmark.utils import statistics_report as reports  # noqa: PLC0415

    core = openvino.Core()
    network = core.read_model(model)
    network.reshape({name: list(array.shape) for name, array in inputs.items()})
    settings = {"PERF_COUNT": True, "INFERENCE_PRECISION_HINT": "f32"}
    compiled = core.compile_model(network, "CPU", settings)
    requests = []
    for _ in range(2):
        request = compiled.create_infer_request()
        request.infer(dict(inputs))
        requests.append(request.get_profiling_info())
    chosen = reports.JsonStatisticsReport if as_json else reports.CsvStatisticsReport
    report = chosen(chosen.Config(f"{kind}_counters", str(folder)))
    report.dump_performance_counters(requests)
    return (
        folder / f"benchmark_{kind}_counters_report.{'json' if as_json else 'csv'}"
    ).read_bytes()


def ones(**shapes: tuple[int, ...]) -> dict[str, Any]:
    """Inputs of float32 ones."""
    return {name: np.ones(shape, np.float32) for name, shape in shapes.items()}


def events(data: bytes) -> list[dict[str, Any]]:
    """The events of a trace."""
    document: list[dict[str, Any]] = json.loads(data)
    return document
