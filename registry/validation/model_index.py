"""The form of ``model-index`` in a model's card: evaluation results as the Hugging Face Hub
specifies them (``modelcard.md`` in its documentation).

Required are ``name`` and ``results`` of each model; ``task.type``, ``dataset.name``,
``dataset.type`` and ``metrics`` of each result; ``type`` and ``value`` of each metric; and ``url``
of a ``source``.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from registry.validation.card import Card
from registry.validation.yaml_tree import Path, refuse

KEY = "model-index"
_MAX_FAULTS = 20

#: Path of the value, and what is wrong with it.
Fault = tuple[Path, str]


def model_index_faults(card: Card) -> list[str]:
    """Up to 20 faults, each with its line, in the Hugging Face Hub's wording."""
    return [
        f"README.md, line {card.line_of(path)}: {spelled(path)} {fault}."
        for path, fault in _first_faults(card)
    ]


def check_model_index(card: Card) -> None:
    """Reject a malformed ``model-index``. Raises ``Invalid``: ``invalid_card``, with the line."""
    for path, fault in _first_faults(card):
        refuse(card.line_of(path), f"{spelled(path)} {fault}")


def spelled(path: Path) -> str:
    """A path as the Hugging Face Hub writes it: ``"model-index[0].results[0].task.type"``."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f'"{"".join(steps).removeprefix(".")}"'


def _first_faults(card: Card) -> list[Fault]:
    index = card.values.get(KEY)
    # Empty values are written by clients for models without results.
    return list(islice(_faults(index), _MAX_FAULTS)) if index else []


def _faults(index: Any) -> Iterator[Fault]:
    if not isinstance(index, list):
        yield (KEY,), "must be an array"
        return
    for number, model in enumerate(index):
        at = (KEY, number)
        if not isinstance(model, dict):
            yield at, "must be of type object"
            continue
        yield from _text_faults(model, at, "name")
        yield from _list_faults(model, at, "results", _result_faults)


def _result_faults(result: dict[str, Any], at: Path) -> Iterator[Fault]:
    yield from _object_faults(result, at, "task", "type")
    yield from _object_faults(result, at, "dataset", "name", "type")
    yield from _list_faults(result, at, "metrics", _metric_faults)
    if result.get("source"):
        yield from _object_faults(result, at, "source", "url")


def _metric_faults(metric: dict[str, Any], at: Path) -> Iterator[Fault]:
    yield from _text_faults(metric, at, "type")
    if metric.get("value") is None:
        yield (*at, "value"), "is required"


def _list_faults(
    parent: dict[str, Any],
    at: Path,
    key: str,
    item_faults: Callable[[dict[str, Any], Path], Iterator[Fault]],
) -> Iterator[Fault]:
    items = parent.get(key)
    if not isinstance(items, list):
        yield (*at, key), "is required" if items is None else "must be an array"
        return
    for number, item in enumerate(items):
        place = (*at, key, number)
        if isinstance(item, dict):
            yield from item_faults(item, place)
        else:
            yield place, "must be of type object"


def _object_faults(parent: dict[str, Any], at: Path, key: str, *texts: str) -> Iterator[Fault]:
    value = parent.get(key)
    if isinstance(value, dict):
        yield from _text_faults(value, (*at, key), *texts)
    else:
        yield (*at, key), "is required" if value is None else "must be of type object"


def _text_faults(parent: dict[str, Any], at: Path, *keys: str) -> Iterator[Fault]:
    for key in keys:
        value = parent.get(key)
        if value is None:
            yield (*at, key), "is required"
        # YAML reads an unquoted name such as 2012 as a number.
        elif isinstance(value, bool | dict | list):
            yield (*at, key), "must be a string"
        elif not str(value).strip():
            yield (*at, key), "is not allowed to be empty"
