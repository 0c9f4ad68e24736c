"""Filters of lists of models: number of parameters, applications, inference providers."""

import re
from collections.abc import Mapping

from django.http import QueryDict

from hub.hf.errors import BadRequest
from registry.selectors.search.listing import Bounds

_MULTIPLES = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_BOUND = re.compile(r"(min|max):([0-9]{1,15}(?:\.[0-9]{1,6})?)([KMBT]?)", re.IGNORECASE)
_MOST = 2**63 - 1
_GGUF = ("gguf",)
_SERVED_TEXT = ("transformers", "safetensors", "text-generation")
#: Application to the labels of the models that it runs.
_APPS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("llama.cpp", "ollama", "lmstudio", "jan", "koboldcpp"), _GGUF),
    **dict.fromkeys(("llama-cpp-python", "node-llama-cpp", "docker-model-runner"), _GGUF),
    **dict.fromkeys(("vllm", "sglang"), _SERVED_TEXT),
    "mlx-lm": ("mlx", "safetensors"),
}
_PROVIDER = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.IGNORECASE)
#: Parameters that lists of data sets do not have.
_OF_MODELS = ("apps", "inference", "inference_provider", "num_parameters", "pipeline_tag")


def parameters_in(query: QueryDict) -> Bounds | None:
    """``num_parameters``: ``min:6B``, ``max:128B`` or both, joined by a comma; ``None`` if absent.

    Raises ``BadRequest``.
    """
    text = query.get("num_parameters")
    if text is None:
        return None
    matches = [_BOUND.fullmatch(part.strip()) for part in text.split(",")]
    bounds = {match[1].lower(): _number(match) for match in matches if match}
    least, most = bounds.get("min", 0), bounds.get("max", _MOST)
    if len(bounds) < len(matches) or least > most:
        raise BadRequest(
            f"Invalid num_parameters {text[:100]!r}: write a range such as 'min:6B,max:128B', "
            "'min:500M' or 'max:1.5B'."
        )
    return least, most


def labels_of_apps(query: QueryDict) -> list[str]:
    """``apps``: the labels of models that every one of these applications runs.

    Raises ``BadRequest`` for an application whose models are unknown.
    """
    names = query.getlist("apps")
    for name in names:
        if name not in _APPS:
            raise BadRequest(f"Invalid apps {name[:50]!r}: must be one of {', '.join(_APPS)}.")
    return list(dict.fromkeys(label for name in names for label in _APPS[name]))


def is_served_in(query: QueryDict) -> bool:
    """Whether only models are requested that an inference provider serves.

    Raises ``BadRequest``.
    """
    if query.get("inference", "warm") != "warm":
        raise BadRequest(f"Invalid inference {query['inference'][:50]!r}: must be 'warm'.")
    if not _PROVIDER.fullmatch(query.get("inference_provider", "all")):
        raise BadRequest("Invalid inference_provider: must be 'all' or the name of a provider.")
    return "inference" in query or "inference_provider" in query


def gated_in(query: QueryDict) -> bool | None:
    """``gated``; ``None`` if absent. Raises ``BadRequest``."""
    value = query.get("gated")
    if value is None:
        return None
    if value.lower() not in {"true", "false", "1", "0"}:
        raise BadRequest(f"Invalid gated {value[:50]!r}: must be true or false.")
    return value.lower() in {"true", "1"}


def refuse_filters_of_models(query: QueryDict) -> None:
    """Refuse filters that data sets do not have. Raises ``BadRequest``."""
    for name in _OF_MODELS:
        if name in query:
            raise BadRequest(f"Invalid filter {name!r}: lists of datasets do not have it.")


def _number(match: re.Match[str]) -> int:
    return min(int(float(match[2]) * _MULTIPLES[match[3].upper()]), _MOST)
