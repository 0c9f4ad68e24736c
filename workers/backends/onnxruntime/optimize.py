"""Saves a network as ONNX Runtime's optimiser leaves it, so that it loads faster."""

from pathlib import Path
from typing import Any

import onnxruntime as ort

from hpcfair import machine
from workers.backends.onnxruntime.files import MOST_BYTES, external_files, size_bytes
from workers.engine.errors import InvalidCandidate

#: What both forms are saved at. Blocked layouts come above it; they depend on the length of the
#: processor's vectors and are made when the file is loaded.
_LEVEL = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED


def save_optimized(path: Path, out: Path, form: str) -> tuple[str, dict[str, Any]]:
    """Write the optimised network into ``out``; returns the file's name there and its provenance.

    Args:
        form: ``optimized`` for ONNX, ``ort`` for ONNX Runtime's own format.

    Raises:
        InvalidCandidate: the network is too large for the form.
    """
    size = size_bytes(path)
    name = "model.ort" if form == "ort" else "model.onnx"
    settings = ort.SessionOptions()
    settings.graph_optimization_level = _LEVEL
    settings.optimized_model_filepath = str(out / name)
    provenance: dict[str, Any] = {"features": list(machine.describe().features)}
    if form == "ort":
        if size > MOST_BYTES:
            raise InvalidCandidate(f"{size} bytes of network; an ORT file takes {MOST_BYTES}")
        settings.add_session_config_entry("session.save_model_format", "ORT")
        # It writes its hash tables in the order of their addresses.
        provenance["reproducible"] = False
    elif size > MOST_BYTES or external_files(path):
        # Otherwise the saved file would point at the original's data, which stays behind.
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", f"{name}.data"
        )
    ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return name, provenance
