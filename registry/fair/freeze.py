"""Descriptions as JSON and back, for withdrawn versions whose rows are deleted. Fields that were
added since are absent in a stored description; removed fields are ignored."""

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from registry.fair.description import Description

# PostgreSQL's JSON rejects U+0000 and lone surrogates.
_UNSTORABLE = {0: "\N{REPLACEMENT CHARACTER}"} | dict.fromkeys(
    range(0xD800, 0xE000), "\N{REPLACEMENT CHARACTER}"
)
_NONE = type(None)


def dump(description: Description) -> dict[str, Any]:
    """``description`` as values that every database stores as JSON."""
    document: dict[str, Any] = _plain(description)
    return document


def load(data: Mapping[str, Any]) -> Description:
    """The inverse of :func:`dump`; raises TypeError if a field without a default is absent."""
    description: Description = _instance(Description, data)
    return description


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    is_finite = isinstance(value, float) and math.isfinite(value)
    if value is None or isinstance(value, bool | int) or is_finite:
        return value
    # JSON has no infinite numbers; they are stored as texts and read back by the field's type.
    return str(value).translate(_UNSTORABLE)


def _instance(kind: Any, data: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    return kind(
        **{
            one.name: _read(hints[one.name], data[one.name])
            for one in fields(kind)
            if one.name in data
        }
    )


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _read(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    if get_origin(hint) is not None:
        return _read_several(hint, value)
    if is_dataclass(hint):
        return _instance(hint, value)
    if hint is datetime:
        return datetime.fromisoformat(value)
    return float(value) if hint is float and isinstance(value, str) else value


def _read_several(hint: Any, value: Any) -> Any:
    """A value of a union, tuple or dict type."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        types = [one for one in args if one is not _NONE]
        return _read(types[0], value) if len(types) == 1 else value
    if origin is tuple:
        return tuple(_read(args[0], item) for item in value)
    if origin is dict:
        return {key: _read(args[1], item) for key, item in value.items()}
    return value
