"""Saves a network as ONNX Runtime's optimiser leaves it, so that it loads faster."""

from pathlib import Path

import onnxruntime as ort

from workers.backends.onnxruntime.files import MOST_BYTES, size_bytes
from workers.engine.errors import InvalidCandidate

#: What both forms are saved at. Blocked layouts come above it; they depend on the length of the
#: processor's vectors and are made when the file is loaded.
_LEVEL = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED


def save_optimized(path: Path, out: Path, form: str) -> str:
    """Write the optimised network into ``out``; returns the file's name there.

    Args:
        form: ``optimized`` for ONNX, ``ort`` for ONNX Runtime's own format.

    Raises:
        InvalidCandidate: the network is too large for the form.
    """
    size = size_bytes(path)
    settings = ort.SessionOptions()
    settings.graph_optimization_level = _LEVEL
    name = "model.onnx"
    if form == "ort":
        if size > MOST_BYTES:
            raise InvalidCandidate(
                f"the network has {size} bytes, an ORT file at most {MOST_BYTES}"
            )
        name = "model.ort"
        settings.add_session_config_entry("session.save_model_format", "ORT")
    elif size > MOST_BYTES:
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", "model.onnx.data"
        )
    settings.optimized_model_filepath = str(out / name)
    ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return name
