"""Converts a folder of ``transformers`` to one ONNX file."""

import inspect
import json
from pathlib import Path
from typing import Any

import torch

from workers.conversion.architecture import configuration, model_class, read_config
from workers.conversion.errors import ConversionError, shortened
from workers.conversion.export import export
from workers.conversion.inputs import arrays_of, long_sizes, specs_of
from workers.conversion.weights import load
from workers.conversion.wrapper import Selected, result_names


def convert(folder: str, out: str) -> dict[str, Any]:
    """Convert the model in ``folder`` to ``model.onnx`` in ``out``.

    Returns:
        ``{"architecture", "inputs", "outputs", "dynamic", "deviation", "unused"}``: the class,
        names of tensors and dynamic dimensions, the largest deviation from PyTorch, and keys of
        weights that the class does not use; or ``{"error": {"code", "detail", "hint"}}``.
    """
    try:
        return _convert(Path(folder), Path(out))
    except ConversionError as error:
        return {"error": {"code": error.code, "detail": error.detail, "hint": error.hint}}


def _convert(folder: Path, out: Path) -> dict[str, Any]:
    content = read_config(folder)
    has_code = "auto_map" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = model_class(content, has_code=has_code)
    model, unused = load(kind, configuration(kind, content), folder)
    specs = specs_of(model, folder)
    module = Selected(model, list(specs), _options(model))
    torch.manual_seed(0)
    try:
        example = arrays_of(specs, model.config, long_sizes(model.config, 2), seed=0)
        with torch.no_grad():
            results = module.results(*map(torch.from_numpy, example))
    # Models raise arbitrary exceptions.
    except Exception as error:
        raise ConversionError(
            "conversion_failed",
            f"{kind.__name__} does not run on the inputs {', '.join(specs)}: {shortened(error)}.",
        ) from error
    module.outputs = result_names(results)
    exported = export(kind.__name__, module, specs, model.config, out)
    return {
        "architecture": kind.__name__,
        "inputs": list(specs),
        "outputs": list(module.outputs),
        "dynamic": list(exported.dynamic),
        "deviation": exported.deviation,
        "unused": unused,
    }


def _options(model: Any) -> dict[str, Any]:
    """Arguments that are no tensors: no cache of keys and values, results by name."""
    model.config.use_cache = False
    parameters = inspect.signature(model.forward).parameters
    return {"return_dict": True} | ({"use_cache": False} if "use_cache" in parameters else {})
