"""YAML of strangers to plain JSON values, within bounds and with line numbers.

Differs from ``yaml.safe_load`` where that would surprise:

- Scalars follow YAML 1.2's core schema, as the Hugging Face Hub's parser does: ``no`` is a word
  (Norwegian), ``2024-01-01`` a text, ``1:30`` no sexagesimal number.
- Nothing but JSON comes out: no dates, bytes, sets, objects, NaN; keys are texts.
- A key given twice is an error, not a silent loss.
- Nesting, and the size an alias expands to, are bounded before anything is built.
"""

import math
import re
from collections.abc import Callable
from typing import Any, NoReturn

import yaml

from registry.errors import Invalid
from registry.validation.texts import unseen

MAX_DEPTH = 32
MAX_VALUES = 100_000
_MAX_DIGITS = 300
# What may stand in a text of several lines; the separators come from word processors.
LINE_CHARACTERS = "\t\n\r\u2028\u2029"

_CORE = "tag:yaml.org,2002:"
_RESOLVERS: list[tuple[str, str, str]] = [
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    (
        "float",
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
        "-+.0123456789",
    ),
]


class _Loader(yaml.CSafeLoader):
    """libyaml's parser with YAML 1.2's words for null, booleans and numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(
        _CORE + _name, re.compile(f"(?:{_pattern})\\Z"), ["" if c == "\0" else c for c in _first]
    )


def load(text: str, *, first_line: int) -> tuple[Any, dict[str, int]]:
    """The value written in ``text``, and the line of each key of its top mapping.

    Args:
        text: One YAML document, without its ``---``.
        first_line: Number of the text's first line in its file; errors count from there.

    Raises:
        Invalid: ``invalid_card``, naming the line.
    """
    try:
        _check_bounds(text, first_line)
        node = yaml.compose(text, Loader=_Loader)
        return _Builder(first_line).build(node), _key_lines(node, first_line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + mark.line if mark else first_line
        refuse(line, f"this is not YAML: {error.problem or error.context or 'unreadable'}")
    except yaml.YAMLError as error:
        refuse(first_line, f"this is not YAML: {error}")


def refuse(line: int, why: str) -> NoReturn:
    """Raise ``invalid_card`` for a line of README.md."""
    raise Invalid(
        "invalid_card",
        f"README.md, line {line}: {why}.",
        "Correct the YAML between the '---' lines at the top of README.md.",
        fields={"README.md": f"line {line}: {why}"},
    )


def _check_bounds(text: str, first_line: int) -> None:
    # Events come from a loop; composing recurses and would exhaust the stack of the C library.
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=_Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        line = first_line + (event.start_mark.line if event.start_mark else 0)
        if depth > MAX_DEPTH:
            refuse(line, f"nested deeper than {MAX_DEPTH} levels")
        # Each value, and each end of a collection, is one event.
        if count > 2 * MAX_VALUES:
            refuse(line, f"more than {MAX_VALUES} values")


class _Builder:
    """Turns nodes into values, counting what aliases repeat as often as it comes out."""

    def __init__(self, first_line: int) -> None:
        self._first_line = first_line
        self._values = 0
        self._open: set[int] = set()

    def build(self, node: yaml.Node | None) -> Any:
        if node is None:
            return None
        self._values += 1
        if self._values > MAX_VALUES:
            self._refuse(node, f"more than {MAX_VALUES} values, aliases counted as often as used")
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            self._refuse(node, "an alias refers to what it is part of")
        self._open.add(id(node))
        try:
            return self._collection(node)
        finally:
            self._open.discard(id(node))

    def _collection(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_CORE}map":
            return self._mapping(node)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_CORE}seq":
            return [self.build(item) for item in node.value]
        return self._refuse(node, f"the tag {node.tag!r} is not taken here")

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, "a key must be a text")
            key = self._text(key_node)
            if key in mapping:
                self._refuse(key_node, f"the key {key[:100]!r} is given twice")
            mapping[key] = self.build(value_node)
        return mapping

    def _scalar(self, node: yaml.ScalarNode) -> bool | int | float | str | None:
        text = self._text(node)
        kind = node.tag.removeprefix(_CORE)
        if kind not in _READ:
            self._refuse(node, f"the tag {node.tag!r} is not taken here")
        return _READ[kind](text)

    def _text(self, node: yaml.ScalarNode) -> str:
        text: str = node.value
        if found := unseen(text, but=LINE_CHARACTERS):
            self._refuse(node, f"the character U+{ord(found):04X} is not taken here")
        return text

    def _refuse(self, node: yaml.Node, why: str) -> NoReturn:
        refuse(self._first_line + node.start_mark.line, why)


def _whole(text: str) -> int | str:
    # YAML 1.2: a leading zero is only a zero, octal is 0o17.
    base = {"0o": 8, "0x": 16}.get(text[:2].lower(), 10)
    return int(text, base) if len(text) <= _MAX_DIGITS else text


def _real(text: str) -> float | str:
    # What overflows has no JSON number either; its text loses nothing.
    value = float(text)
    return value if math.isfinite(value) else text


_READ: dict[str, Callable[[str], bool | int | float | str | None]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _whole,
    "float": _real,
}


def _key_lines(node: yaml.Node | None, first_line: int) -> dict[str, int]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {
        key.value: first_line + key.start_mark.line
        for key, _ in node.value
        if isinstance(key, yaml.ScalarNode)
    }
