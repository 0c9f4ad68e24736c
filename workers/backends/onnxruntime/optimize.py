"""Saves the output of ONNX Runtime's optimiser, so that builds load faster."""

from pathlib import Path
from typing import Any

from hpcfair import machine
from hpcfair.runtimes.quiet_onnxruntime import ort
from workers.backends.onnxruntime.files import MOST_BYTES, external_files, size_bytes
from workers.engine.errors import InvalidCandidate

#: Optimisation level of saved files. Blocked layouts are above it: they depend on the processor's
#: vector length and are created when the file is loaded.
_LEVEL = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED


def save_optimized(path: Path, out: Path, artefact: str) -> tuple[str, dict[str, Any]]:
    """Write the optimised network into ``out``; returns the file's name there and its provenance.

    ``artefact`` is ``optimized`` for ONNX, ``ort`` for ONNX Runtime's own format. Raises
    InvalidCandidate if the network is too large for the format.
    """
    size = size_bytes(path)
    name = "model.ort" if artefact == "ort" else "model.onnx"
    settings = ort.SessionOptions()
    settings.graph_optimization_level = _LEVEL
    settings.optimized_model_filepath = str(out / name)
    provenance: dict[str, Any] = {"features": list(machine.describe().features)}
    if artefact == "ort":
        if size > MOST_BYTES:
            raise InvalidCandidate(
                f"the network has {size} bytes; ORT files support up to {MOST_BYTES}"
            )
        settings.add_session_config_entry("session.save_model_format", "ORT")
        # ONNX Runtime writes its hash tables in the order of their addresses.
        provenance["reproducible"] = False
    elif size > MOST_BYTES or external_files(path):
        # Otherwise the saved file would refer to the original's external data.
        settings.add_session_config_entry(
            "session.optimized_model_external_initializers_file_name", f"{name}.data"
        )
    ort.InferenceSession(path, settings, providers=["CPUExecutionProvider"])
    return name, provenance
