"""Loads weights into the model that config.json describes, and refuses those that do not fit."""

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from workers.conversion.errors import ConversionError, raise_lack_of_memory, shortened

_SHOWN = 5
#: Buffers that older releases stored, and newer ones compute.
_COMPUTED = (
    *(".position_ids", ".inv_freq", ".masked_bias", ".attn.bias", ".attention.bias"),
    *(".relative_position_index", ".num_batches_tracked", "embed_positions.weights"),
)


def load(kind: type[Any], config: Any, folder: Path) -> tuple[Any, list[str]]:
    """The model with the weights of the safetensors files in ``folder``, in float32 and evaluation
    mode, and the keys of weights that the class does not use.

    Raises:
        ConversionError: ``weights_differ``: the files lack weights, have more of them than
            config.json describes, or in other shapes.
    """
    model, report = _loaded(kind, config, folder)
    poolers = [key for key in report["missing_keys"] if key.split(".")[0] == "pooler"]
    if poolers and "add_pooling_layer" in inspect.signature(kind.__init__).parameters:
        # The part that summarises a text is left out of many models, and no configuration says so.
        model, report = _loaded(kind, config, folder, add_pooling_layer=False)
    mismatched = [
        f"{key} has the shape {list(stored)} instead of {list(expected)}"
        for key, stored, expected in report["mismatched_keys"]
    ]
    unexpected = [key for key in report["unexpected_keys"] if not key.endswith(_COMPUTED)]
    inside = [key for key in unexpected if not _is_other_head(model, key)]
    faults = [
        *_fault("are missing", report["missing_keys"]),
        *_fault("do not fit", mismatched),
        *_fault("belong to nothing that it describes", inside),
    ]
    if faults:
        raise ConversionError(
            "weights_differ",
            f"config.json does not describe the weights. {' '.join(faults)}",
            "Publish the config.json with which the weights were saved (model.save_pretrained "
            "writes both).",
        )
    if hasattr(model, "set_experts_implementation"):
        # Loops over experts take turns that depend on the data.
        model.set_experts_implementation("batched_mm")
    return model.eval(), sorted(unexpected)


def _loaded(kind: type[Any], config: Any, folder: Path, **options: Any) -> tuple[Any, Any]:
    """The model, and the library's report on its weights. Raises ConversionError."""
    try:
        loaded: tuple[Any, Any] = kind.from_pretrained(
            str(folder),
            config=config,
            dtype=torch.float32,
            # Its graph has the operators that ONNX has, in shapes that do not depend on kernels.
            attn_implementation="eager",
            use_safetensors=True,
            local_files_only=True,
            trust_remote_code=False,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
            **options,
        )
    except ImportError as error:
        raise ConversionError(
            "not_convertible",
            f"{kind.__name__} needs a library besides transformers: {shortened(error)}.",
        ) from error
    # The library raises arbitrary exceptions.
    except Exception as error:
        raise_lack_of_memory(error)
        raise ConversionError(
            "not_convertible", f"transformers does not load the weights: {shortened(error)}."
        ) from error
    return loaded


def _fault(what: str, keys: Iterable[str]) -> list[str]:
    ordered = sorted(keys)
    if not ordered:
        return []
    more = f" and {len(ordered) - _SHOWN:,} more" if len(ordered) > _SHOWN else ""
    return [f"Weights that {what}: {', '.join(ordered[:_SHOWN])}{more}."]


def _is_other_head(model: Any, key: str) -> bool:
    """Whether a key belongs to a part that the class leaves out, such as the head of another task,
    rather than inside of a part that it has: then layers would be dropped silently."""
    parts = key.split(".")
    if parts[0] == model.base_model_prefix and hasattr(model, parts[0]):
        model, parts = getattr(model, parts[0]), parts[1:]
    return not hasattr(model, parts[0])
