"""The class of ``transformers`` that a config.json describes, without any code of its author."""

import json
import sys
from pathlib import Path
from typing import Any

import transformers
from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

from workers.conversion.errors import ConversionError, lacks_library, shortened

#: Members that would choose other code than the library's own, or are about a machine.
_IGNORED = frozenset(
    {
        *("auto_map", "custom_pipelines", "_attn_implementation", "_attn_implementation_internal"),
        *("attn_implementation", "_experts_implementation", "_experts_implementation_internal"),
        *("experts_implementation", "use_kernels", "_name_or_path", "_commit_hash"),
    }
)


def read_config(folder: Path) -> dict[str, Any]:
    """The members of config.json, without those that name code. Raises ConversionError."""
    try:
        text = (folder / "config.json").read_text(encoding="utf-8")
        content = json.loads(text, object_hook=_float_of)
    except (ValueError, RecursionError) as error:
        raise ConversionError(
            "not_convertible", f"config.json is not JSON: {error}.", "Correct the file."
        ) from error
    if not isinstance(content, dict):
        raise ConversionError("not_convertible", "config.json is not a JSON object.")
    return {key: value for key, value in content.items() if key not in _IGNORED}


def _float_of(content: dict[str, Any]) -> Any:
    """A number that JSON lacks, as transformers writes it: ``{"__float__": "Infinity"}``."""
    match content:
        case {"__float__": "Infinity" | "-Infinity" | "NaN" as number} if len(content) == 1:
            return float(number)
        case _:
            return content


def model_class(content: dict[str, Any], *, has_code: bool) -> type[Any]:
    """The class of the model. Raises ConversionError if transformers does not know it.

    Args:
        content: Members of config.json.
        has_code: Whether config.json names code of the repository (``auto_map``).
    """
    model_type = content.get("model_type")
    if "quantization_config" in content:
        raise ConversionError(
            "not_convertible",
            "Its weights are quantised by a library (quantization_config), whose kernels ONNX does "
            "not have.",
            "Publish the weights before quantisation: the hub quantises by itself.",
        )
    # Folders of timm state no type.
    if model_type == "timm_wrapper" or (model_type is None and "pretrained_cfg" in content):
        raise lacks_library("timm", f"It is a model of timm ({content.get('architecture')}). ")
    if not isinstance(model_type, str) or model_type not in transformers.CONFIG_MAPPING:
        own_code = " Its config.json names code in the repository, which the hub never runs."
        raise ConversionError(
            "not_convertible",
            f"transformers {transformers.__version__} does not know the model_type {model_type!r}."
            f"{own_code if has_code else ''}",
        )
    names = content.get("architectures") or [MODEL_MAPPING_NAMES.get(model_type)]
    name = names[0] if isinstance(names, list) and names else None
    if isinstance(name, tuple):
        name = name[0]
    member: Any = _class_of(model_type, name) if isinstance(name, str) else None
    if not (isinstance(member, type) and issubclass(member, transformers.PreTrainedModel)):
        raise ConversionError(
            "not_convertible",
            f"transformers {transformers.__version__} has no model class {name!r}, which "
            "config.json names in architectures.",
        )
    kind: Any = member
    expected = getattr(kind.config_class, "model_type", None)
    if expected != model_type:
        raise ConversionError(
            "not_convertible",
            f"config.json names the class {name}, which belongs to the model_type {expected!r}, "
            f"and the model_type {model_type!r}.",
            "Correct config.json.",
        )
    return member


def _class_of(model_type: str, name: str) -> Any:
    """What transformers has by the name of a class; ``None`` if it has nothing."""
    whole = MODEL_MAPPING_NAMES.get(model_type)
    whole = whole[0] if isinstance(whole, tuple) else whole
    if hasattr(transformers, name) or whole is None:
        return getattr(transformers, name, None)
    # A part of a model that was saved on its own, such as WhisperEncoder, is in its module only.
    return getattr(sys.modules[getattr(transformers, whole).__module__], name, None)


def configuration(kind: type[Any], content: dict[str, Any]) -> Any:
    """The configuration object of ``kind``. Raises ConversionError for impossible values."""
    try:
        return kind.config_class.from_dict(content)
    # The constructors of configurations raise arbitrary exceptions.
    except Exception as error:
        raise ConversionError(
            "not_convertible",
            f"transformers refuses config.json: {shortened(error)}.",
            "Correct config.json.",
        ) from error
