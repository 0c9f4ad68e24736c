"""Code as numbered, highlighted lines, in parts that a browser lays out only when they are seen."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

#: Lexer of each kind of code.
_LEXERS = {
    "tir": "python", "asm": "gas", "llvm": "llvm", "cuda": "cuda", "ptx": "ptx", "c++": "cpp",
}  # fmt: skip
#: Longer texts are not highlighted: the lexers take about a second a megabyte.
_MOST_HIGHLIGHTED = 500_000
_LINES_OF_PART = 100
#: Classes of tokens that ``performance.css`` colours; an element for any other is only weight.
_COLOURED = re.compile(r"^(?:k\w?|ow|s\w?|m\w?|il|c\w?|n[dfcl])$")
_TOKEN = re.compile(r'<span class="(\w+)">([^<]*)</span>')


@dataclass(frozen=True, slots=True)
class ListingLine:
    """A line, with the numbers of the loops it belongs to, space-separated."""

    number: int
    html: SafeString
    loops: str


@dataclass(frozen=True, slots=True)
class CodeListing:
    """A text of code.

    Attributes:
        parts: Lines in parts of 100.
        is_cut: Whether its end is missing.
    """

    kind: str
    parts: list[list[ListingLine]]
    count: int
    is_cut: bool = False


def listing(
    kind: str, text: str, loops: Mapping[int, Sequence[int]] | None = None, *, is_cut: bool = False
) -> CodeListing:
    """A text as lines of safe HTML.

    Args:
        kind: As of :class:`registry.tables.KernelCode`; others are shown plain.
        loops: Number of a line, from 1, to the loops it belongs to.
    """
    texts = _highlighted(kind, text)
    of_line = loops or {}
    lines = [
        ListingLine(number, html, " ".join(map(str, of_line.get(number, ()))))
        for number, html in enumerate(texts, 1)
    ]
    parts = [lines[at : at + _LINES_OF_PART] for at in range(0, len(lines), _LINES_OF_PART)]
    return CodeListing(kind, parts, len(lines), is_cut)


def _highlighted(kind: str, text: str) -> list[SafeString]:
    plain = text.splitlines()
    if kind in _LEXERS and len(text) <= _MOST_HIGHLIGHTED:
        lexer: Any = get_lexer_by_name(_LEXERS[kind], stripnl=False, ensurenl=False)
        # One element for each line: the formatter closes and opens the spans at line ends.
        formatter: Any = HtmlFormatter(nowrap=True)
        lines = highlight("\n".join(plain), lexer, formatter).split("\n")
        lines = lines[: len(plain)]
        if len(lines) == len(plain):
            return [mark_safe(_TOKEN.sub(_lighter, line)) for line in lines]  # noqa: S308  Pygments escapes
    return [mark_safe(escape(line)) for line in plain]  # noqa: S308  escaped here


def _lighter(token: re.Match[str]) -> str:
    """A token without its element, unless it is coloured."""
    return token[0] if _COLOURED.match(token[1]) else token[2]
