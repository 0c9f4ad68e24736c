"""Model cards: the YAML front matter of README.md and the text below it.

::

    ---                       line 1
    license: apache-2.0       front matter: the card's values
    tags: [galaxy]
    ---
    # Galaxies                body: Markdown
    Sorts galaxies by shape.  its first paragraph is the description

:attr:`Card.values` has every key, including unsupported ones.
"""

import itertools
import re
from dataclasses import dataclass, field
from typing import Any

from registry.validation.bounded_markdown import BoundedParser, TooCostly
from registry.validation.texts import unseen
from registry.validation.yaml_tree import LINE_CHARACTERS, Path, load, refuse

MAX_CARD_BYTES = 1 << 20
MAX_DESCRIPTION = 2000
# Upper bound on the characters that are parsed for the description, since a card may have 1 MiB.
_MAX_PARSED = 20_000

_TEXTS = {"license_name": 200, "license_link": 2000, "pipeline_tag": 100, "library_name": 100}
_TITLES = ("model_name", "title")
_MAX_TITLE = 300
_LISTS = {"tags": 200, "language": 100, "datasets": 500, "base_model": 500}
_MAX_ITEMS = 1000
_FENCE = re.compile(r"---[ \t]*")
_PARSER = BoundedParser()


@dataclass(frozen=True, slots=True)
class Card:
    """A parsed card.

    Attributes:
        values: The front matter as plain JSON values.
        body: The Markdown below it.
        lines: Top key to its line in README.md.
        places: Path of each value to its line; see :meth:`line_of`.
        body_line: First line of the body in README.md.
    """

    values: dict[str, Any] = field(default_factory=dict)
    body: str = ""
    lines: dict[str, int] = field(default_factory=dict)
    places: dict[Path, int] = field(default_factory=dict)
    body_line: int = 1

    @property
    def title(self) -> str:
        """``model_name``, else ``title``, else ""."""
        return next((text for key in _TITLES if (text := self._text(key))), "")

    @property
    def task(self) -> str:
        """``pipeline_tag``, Hugging Face's key for the task."""
        return self._text("pipeline_tag")

    @property
    def library(self) -> str:
        """``library_name``."""
        return self._text("library_name")

    @property
    def tags(self) -> list[str]:
        """``tags`` without repetitions."""
        return list(dict.fromkeys(texts_of(self.values.get("tags"))))

    @property
    def description(self) -> str:
        """The first non-empty paragraph of the body as plain text."""
        return _first_paragraph(self.body)[0]

    @property
    def description_line(self) -> int:
        """First line of :attr:`description` in README.md."""
        return self.body_line + _first_paragraph(self.body)[1]

    def line_of(self, path: Path) -> int:
        """The line of a value in README.md, or of its nearest existing parent."""
        prefixes = (path[:length] for length in range(len(path), 0, -1))
        return next((self.places[one] for one in prefixes if one in self.places), 1)

    def _text(self, key: str) -> str:
        return " ".join(texts_of(self.values.get(key))).strip()


def parse(data: bytes) -> Card:
    """Parse README.md. Raises ``Invalid``: ``invalid_card``, with the line."""
    check_size(len(data))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(data.count(b"\n", 0, error.start) + 1, "this is not UTF-8 text")
    lines, opened, closed = split(text)
    if opened is None:
        return Card(body=text)
    if closed is None:
        refuse(opened + 1, "the '---' that opens the card's values has no closing '---'")
    matter = lines[opened + 1 : closed]
    for number, line in enumerate(matter, opened + 2):
        if character := unseen(line, but=LINE_CHARACTERS):
            refuse(number, f"the character U+{ord(character):04X} is not allowed")
    tree = load("\n".join(matter) + "\n", first_line=opened + 2)
    if tree.value is not None and not isinstance(tree.value, dict):
        refuse(opened + 2, "the card's values must be 'key: value' lines")
    values = tree.value or {}
    key_lines = {key: tree.lines[key,] for key in values}
    body = "\n".join(lines[closed + 1 :])
    card = Card(values, body, key_lines, tree.lines, closed + 2)
    _check_known(card)
    return card


def body_of(text: str) -> str:
    """The Markdown of a README.md; its front matter need not be valid."""
    lines, _, closed = split(text)
    return text if closed is None else "\n".join(lines[closed + 1 :])


def check_size(size_bytes: int) -> None:
    """Reject a README.md above :data:`MAX_CARD_BYTES`. Raises ``Invalid``: ``invalid_card``."""
    if size_bytes > MAX_CARD_BYTES:
        refuse(1, f"the file has {size_bytes} bytes, a card may have {MAX_CARD_BYTES}")


def texts_of(value: Any) -> list[str]:
    """The texts of a value that may be one text or a list of texts."""
    items = value if isinstance(value, list) else [value]
    return [_text_of(item) for item in items if item is not None and item != ""]


def split(text: str) -> tuple[list[str], int | None, int | None]:
    """The lines, and the indices of the front matter's opening and closing lines."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    opened = next((number for number, line in enumerate(lines) if line.strip()), None)
    if opened is None or not _FENCE.fullmatch(lines[opened]):
        return lines, None, None
    after = range(opened + 1, len(lines))
    return lines, opened, next((n for n in after if _FENCE.fullmatch(lines[n])), None)


def _text_of(item: Any) -> str:
    if isinstance(item, bool):
        return "true" if item else "false"
    return str(item).strip()


def _check_known(card: Card) -> None:
    """Check the types and lengths of the keys that the hub stores or shows."""
    limits = _TEXTS | dict.fromkeys(_TITLES, _MAX_TITLE)
    for key, limit in (limits | _LISTS | {"license": 200}).items():
        value = card.values.get(key)
        line = card.lines.get(key, 1)
        items = value if isinstance(value, list) else [value]
        if isinstance(value, list) and key in limits:
            refuse(line, f"'{key}' must be one text, not a list")
        if any(isinstance(item, dict | list) for item in items):
            refuse(line, f"'{key}' must be a text{'' if key in limits else ' or a list of texts'}")
        if len(items) > _MAX_ITEMS:
            refuse(line, f"'{key}' has more than {_MAX_ITEMS} entries")
        if any(len(text) > limit for text in texts_of(value)):
            refuse(line, f"'{key}' is longer than {limit} characters")


def _first_paragraph(body: str) -> tuple[str, int]:
    """The text of the paragraph, "" if there is none, and the number of lines above it."""
    try:
        tokens = _PARSER.parse(body[:_MAX_PARSED])
    except TooCostly:
        return "", 0
    for before, token in itertools.pairwise(tokens):
        # Level 0 excludes paragraphs in lists and quotations.
        if before.type == "paragraph_open" and before.level == 0:
            text = "".join(
                " " if child.type in {"softbreak", "hardbreak"} else child.content
                for child in token.children or []
                if child.type in {"text", "code_inline", "softbreak", "hardbreak"}
            )
            text = " ".join(text.replace("\0", "").split())
            if text:
                return text[:MAX_DESCRIPTION], before.map[0] if before.map else 0
    return "", 0
