"""Loads weights into the model that config.json describes, and refuses those that do not fit."""

import copy
import inspect
import json
import math
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from workers.conversion.errors import (
    ConversionError,
    lacks_library,
    raise_lack_of_memory,
    shortened,
)

_INDEX = "model.safetensors.index.json"
_SHOWN = 5
_SAVE = "Publish all files that model.save_pretrained writes."
_REMEDY = (
    "Publish the config.json with which the weights were saved (model.save_pretrained writes both)."
)
#: How transformers names a library that a class needs.
_LIBRARY = re.compile(r"requires the (\S+) library")
#: Members of configurations that count layers.
_LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers")
#: Weights that a class may have for each stored one, and besides: heads of other tasks are missing.
_MOST_TIMES, _ROOM = 3, 10_000_000
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
    _require_index(folder)
    _require_possible(kind, config, folder)
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
            _REMEDY,
        )
    if hasattr(model, "set_experts_implementation"):
        # Loops over experts take turns that depend on the data.
        model.set_experts_implementation("batched_mm")
    return model.eval(), sorted(unexpected)


def _require_index(folder: Path) -> None:
    """Refuse an index that names no files, or others than those beside it. Raises ConversionError:
    ``not_convertible``."""
    path = folder / _INDEX
    if not path.exists() or (folder / "model.safetensors").exists():
        return
    try:
        index = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ConversionError("not_convertible", f"{_INDEX} is not JSON: {error}.") from error
    names = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(names, dict) or not names or "metadata" not in index:
        raise ConversionError(
            "not_convertible", f"{_INDEX} lacks the members metadata and weight_map.", _SAVE
        )
    present = {each.name for each in folder.glob("*.safetensors")}
    absent = sorted({str(name) for name in names.values()} - present)
    if absent:
        more = f" and {len(absent) - _SHOWN:,} more" if len(absent) > _SHOWN else ""
        raise ConversionError(
            "not_convertible",
            f"{_INDEX} names files that are not beside it: {', '.join(absent[:_SHOWN])}{more}.",
            _SAVE,
        )


def _require_possible(kind: type[Any], config: Any, folder: Path) -> None:
    """Refuse a configuration of far more weights than are stored, before it is built. Raises
    ConversionError: ``weights_differ``."""
    opener: Any = safe_open
    shapes: list[list[int]] = []
    try:
        for path in folder.glob("*.safetensors"):
            stream = opener(path, "pt")
            shapes += [stream.get_slice(key).get_shape() for key in stream.keys()]  # noqa: SIM118
    except SafetensorError:
        # Loading has the reason.
        return
    layers = max(
        (number for name in _LAYERS if isinstance(number := getattr(config, name, None), int)),
        default=0,
    )
    stored = sum(map(math.prod, shapes))
    described = f"{layers:,} layers" if layers > len(shapes) else ""
    if not described:
        try:
            with torch.device("meta"):
                count = sum(weight.numel() for weight in kind(copy.deepcopy(config)).parameters())
        # Constructors raise arbitrary exceptions; loading has the reason.
        except Exception:  # noqa: BLE001
            return
        described = f"{count:,} weights" if count > _MOST_TIMES * stored + _ROOM else ""
    if described:
        raise ConversionError(
            "weights_differ",
            f"config.json describes {described}; its files have {len(shapes):,} tensors with "
            f"{stored:,} weights.",
            _REMEDY,
        )


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
        if library := _LIBRARY.search(str(error)):
            raise lacks_library(library[1]) from error
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
