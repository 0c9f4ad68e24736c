"""Parser of untrusted YAML to JSON values, with bounds and line numbers.

Differences from ``yaml.safe_load``:

- Scalars follow YAML 1.2's core schema, as Hugging Face's parser does: ``no`` and ``2024-01-01``
  are texts, and ``1:30`` is not a sexagesimal number.
- Values are JSON: no dates, bytes, sets, objects or NaN; keys are texts.
- Repeated keys are errors.
- Nesting and the expansion of aliases are bounded.
"""

import bisect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from registry.errors import Invalid
from registry.validation.texts import unseen

MAX_DEPTH = 32
MAX_VALUES = 50_000
MAX_DIRECTIVES = 10
_MAX_DIGITS = 300
# Characters allowed in texts of several lines; word processors write the separators.
LINE_CHARACTERS = "\t\n\r\u2028\u2029"

_CORE = "tag:yaml.org,2002:"
_SCALARS: list[tuple[str, str, str]] = [
    ("null", r"~|null|Null|NULL|", "~nN\0"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
]
#: Tag, pattern and first characters of the scalars that are not texts, in the form of PyYAML.
RESOLVERS = [
    (_CORE + name, re.compile(f"(?:{pattern})\\Z"), ["" if c == "\0" else c for c in first])
    for name, pattern, first in _SCALARS
]


class Loader(yaml.CSafeLoader):
    """libyaml's parser with YAML 1.2's null, booleans and numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}


for _tag, _pattern, _first in RESOLVERS:
    Loader.add_implicit_resolver(_tag, _pattern, _first)


#: Path of a value from the top: keys of mappings and indices of lists.
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlTree:
    """The value of a document with line numbers.

    ``lines`` maps the path of a value to the line of its key, or else of the value. Aliases have
    the lines of their anchor.
    """

    value: Any
    lines: dict[Path, int] = field(default_factory=dict)


def load(text: str, *, first_line: int) -> YamlTree:
    """Parse one YAML document, without ``---`` lines.

    ``first_line`` is the line number of the text's first line in its file. Raises ``Invalid``:
    ``invalid_card``, with the line.
    """
    lines = _Lines(text, first_line)
    try:
        _check_bounds(text, lines)
        return _Builder(lines).tree(yaml.compose(text, Loader=Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = lines.of(mark) if mark else first_line
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


class _Lines:
    """Line numbers by ``\\n`` only; libyaml also counts U+2028 as a line break."""

    def __init__(self, text: str, first_line: int) -> None:
        self._first_line = first_line
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def of(self, mark: Any) -> int:
        return self._first_line + bisect.bisect_left(self._breaks, index_of(mark))


def index_of(mark: Any) -> int:
    """Offset of a PyYAML mark in the text, in characters."""
    index: int = mark.index if mark else 0
    return index


def _check_bounds(text: str, lines: _Lines) -> None:
    # libyaml compares each directive with all before it.
    if text.count("\n%TAG") > MAX_DIRECTIVES:
        refuse(lines.of(None), f"more than {MAX_DIRECTIVES} tag directives")
    # Parsing to events is iterative; composing recurses and could exhaust the C stack.
    depth = 0
    for count, event in enumerate(yaml.parse(text, Loader=Loader)):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            refuse(lines.of(event.start_mark), f"nested deeper than {MAX_DEPTH} levels")
        # Every value and every end of a collection is one event.
        if count > 2 * MAX_VALUES:
            refuse(lines.of(event.start_mark), f"more than {MAX_VALUES} values")


class _Builder:
    """Builds values from nodes, counting values of aliases as often as they are used."""

    def __init__(self, lines: _Lines) -> None:
        self._lines = lines
        self._line_of: dict[Path, int] = {}
        self._values = 0
        self._open: set[int] = set()

    def tree(self, node: yaml.Node | None) -> YamlTree:
        return YamlTree(None if node is None else self._build(node, ()), self._line_of)

    def _build(self, node: yaml.Node, path: Path) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            self._refuse(node, f"more than {MAX_VALUES} values, aliases counted as often as used")
        self._line_of.setdefault(path, self._lines.of(node.start_mark))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        if id(node) in self._open:
            self._refuse(node, "an alias refers to what it is part of")
        self._open.add(id(node))
        try:
            return self._collection(node, path)
        finally:
            self._open.discard(id(node))

    def _collection(self, node: yaml.Node, path: Path) -> Any:
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_CORE}map":
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_CORE}seq":
            return [self._build(item, (*path, place)) for place, item in enumerate(node.value)]
        return self._refuse(node, f"the tag {node.tag[:100]!r} is not allowed")

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, "a key must be a text")
            key = self._text(key_node)
            if key in mapping:
                self._refuse(key_node, f"the key {key[:100]!r} is repeated")
            self._line_of[*path, key] = self._lines.of(key_node.start_mark)
            mapping[key] = self._build(value_node, (*path, key))
        return mapping

    def _scalar(self, node: yaml.ScalarNode) -> bool | int | float | str | None:
        text = self._text(node)
        kind = node.tag.removeprefix(_CORE)
        if kind not in _READ:
            self._refuse(node, f"the tag {node.tag[:100]!r} is not allowed")
        return _READ[kind](text)

    def _text(self, node: yaml.ScalarNode) -> str:
        text: str = node.value
        if character := unseen(text, but=LINE_CHARACTERS):
            self._refuse(node, f"the character U+{ord(character):04X} is not allowed")
        return text

    def _refuse(self, node: yaml.Node, why: str) -> NoReturn:
        refuse(self._lines.of(node.start_mark), why)


def _whole(text: str) -> int | str:
    # In YAML 1.2, leading zeros do not mean octal, which is written 0o17.
    base = {"0o": 8, "0x": 16}.get(text[:2].lower(), 10)
    return int(text, base) if len(text) <= _MAX_DIGITS else text


def _real(text: str) -> float | str:
    # Numbers that overflow stay texts, since JSON has no infinity.
    value = float(text)
    return value if math.isfinite(value) else text


_READ: dict[str, Callable[[str], bool | int | float | str | None]] = {
    "str": str,
    "null": lambda _: None,
    "bool": lambda text: text.lower() == "true",
    "int": _whole,
    "float": _real,
}
