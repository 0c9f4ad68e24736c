"""Helpers of all serialisations: plain values without empty ones, and portable YAML."""

import re
from typing import Any

import yaml

#: Texts that YAML 1.1 and 1.2 read alike without quotes, except for words such as ``no``, which
#: PyYAML quotes. ``1e5``, a possible start of a commit id, is a number in only one of them.
_PLAIN = re.compile(r"[A-Za-z][ -~]*")


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not :data:`_PLAIN`."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def drop_empty(**values: Any) -> dict[str, Any]:
    """``values`` without ``None`` and empty texts, tuples, lists, dicts; ``0`` and ``False`` stay.
    Keys that are not Python names are passed as ``drop_empty(**{"@id": url})``."""
    return {key: value for key, value in values.items() if not _is_empty(value)}


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | tuple | list | dict) and not value)


def yaml_bytes(document: dict[str, Any]) -> bytes:
    """``document`` as YAML that readers of 1.1 and 1.2 understand alike, keys in given order."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1 << 20
    )
    return text.encode()
