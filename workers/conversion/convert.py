"""Converts a folder of ``transformers`` to one ONNX file."""

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from workers.conversion.architecture import configuration, model_class, read_config
from workers.conversion.decoder import CachedDecoder, decoder_specs
from workers.conversion.encoderdecoder import CachedEncoderDecoder, encoder_decoder_specs
from workers.conversion.errors import ConversionError, raise_lack_of_memory, shortened
from workers.conversion.export import export
from workers.conversion.inputs import InputSpec, arrays_of, long_sizes, specs_of
from workers.conversion.lengths import keep_lengths_dynamic
from workers.conversion.weights import load
from workers.conversion.wrapper import Selected, result_names


def convert(folder: str, out: str) -> dict[str, Any]:
    """Convert the model in ``folder`` to ``model.onnx`` in ``out``.

    Returns:
        ``{"architecture", "inputs", "outputs", "dynamic", "deviation", "unused"}``: the class,
        names of tensors and dynamic dimensions, the largest deviation from PyTorch, and keys of
        weights that the class does not use; for a decoder whose cache is left out also
        ``without_cache``, the reason; or ``{"error": {"code", "detail", "hint"}}``.
    """
    try:
        return _convert(Path(folder), Path(out))
    except ConversionError as error:
        return {"error": {"code": error.code, "detail": error.detail, "hint": error.hint}}
    except OSError:
        raise
    # Configurations have members of arbitrary types.
    except Exception as error:  # noqa: BLE001
        raise_lack_of_memory(error)
        detail = f"The converter does not handle this config.json: {shortened(error)}."
        return {"error": {"code": "conversion_failed", "detail": detail, "hint": ""}}


def _convert(folder: Path, out: Path) -> dict[str, Any]:
    content = read_config(folder)
    has_code = "auto_map" in json.loads((folder / "config.json").read_text(encoding="utf-8"))
    kind = model_class(content, has_code=has_code)
    model, unused = load(kind, configuration(kind, content), folder)
    keep_lengths_dynamic(model)
    report: dict[str, Any] = {"architecture": kind.__name__, "unused": unused}
    for wrapper, specs in (
        (CachedDecoder, decoder_specs(model)),
        (CachedEncoderDecoder, encoder_decoder_specs(model)),
    ):
        if not specs:
            continue
        options = {"return_dict": True, "use_cache": True}
        try:
            return report | _exported(wrapper(model, list(specs), options), specs, out)
        except ConversionError as error:
            # A network that computes every word again is of more use than none.
            report["without_cache"] = error.detail
    specs = specs_of(model, folder)
    return report | _exported(Selected(model, list(specs), _options(model)), specs, out)


def _exported(module: Selected, specs: Mapping[str, InputSpec], out: Path) -> dict[str, Any]:
    """Export a module; returns what the report states of its network."""
    config, name = module.model.config, type(module.model).__name__
    module.outputs = result_names(_results(module, specs))
    if not module.outputs:
        raise ConversionError("conversion_failed", f"{name} has no tensors as results of one run.")
    exported = export(name, module, specs, config, out)
    return {
        "inputs": list(specs),
        "outputs": list(module.outputs),
        "dynamic": list(exported.dynamic),
        "deviation": exported.deviation,
    }


def _results(module: Selected, specs: Mapping[str, InputSpec]) -> Mapping[str, Any]:
    """Results of one run, on two rows, or on one where the model takes no more. Raises
    ConversionError."""
    config, name = module.model.config, type(module.model).__name__
    first: Exception | None = None
    for rows in (2, 1):
        torch.manual_seed(0)
        example = arrays_of(specs, config, long_sizes(config, rows), seed=0)
        try:
            with torch.no_grad():
                results = module.results(*map(torch.from_numpy, example))
                again = module.results(*map(torch.from_numpy, example))
        # Models raise arbitrary exceptions.
        except Exception as error:  # noqa: BLE001
            raise_lack_of_memory(error)
            first = first or error
            continue
        _require_same(name, results, again)
        return results
    assert first is not None  # noqa: S101  there are two attempts
    raise ConversionError(
        "conversion_failed",
        f"{name} does not run on the inputs {', '.join(specs)}, which the hub chose by their "
        f"names: {shortened(first)}.",
    ) from first


def _require_same(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> None:
    """Refuse a model whose results are random: no file can be compared with it."""
    for result in result_names(one):
        if not torch.allclose(one[result], other[result], rtol=1e-3, atol=1e-4, equal_nan=True):
            raise ConversionError(
                "conversion_failed",
                f"{name} draws random numbers: two runs on the same inputs have different "
                f"{result}, so that no file can be compared with it.",
            )


def _options(model: Any) -> dict[str, Any]:
    """Arguments that are no tensors: no cache of keys and values, results by name."""
    model.config.use_cache = False
    parameters = inspect.signature(model.forward).parameters
    return {"return_dict": True} | ({"use_cache": False} if "use_cache" in parameters else {})
