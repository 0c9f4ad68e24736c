"""YAML that readers of 1.1 and of 1.2 understand alike."""

import re
from typing import Any

import yaml

#: The two versions agree on these without quotes, but for words such as ``no``, which PyYAML
#: quotes. Not on ``1e5``, as commit ids begin: a text in one, a number in the other.
_PLAIN = re.compile(r"[A-Za-z][ -~]*")


class _Dumper(yaml.SafeDumper):
    """Quotes every text that is not :data:`_PLAIN`."""


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None if _PLAIN.fullmatch(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def dump(document: dict[str, Any]) -> bytes:
    """``document`` in the order of its keys, each text on one line, in UTF-8."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=1 << 20
    )
    return text.encode()
