"""HTML in a card: the hub shows it as it is written, so whoever wrote it should know."""

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt

from registry.validation.card import Card
from registry.validation.findings import CardFinding

# Markdown takes time and a card may be a megabyte; nobody reads a hundred of the same.
_WITHIN = 100_000
_MOST = 20
_PARSER = MarkdownIt("commonmark")
_TAG = re.compile(r"</?\s*([A-Za-z][A-Za-z0-9-]{0,50})")
_FIX = "Write it in Markdown; scripts, frames and styles never run here."


def markup(card: Card) -> tuple[CardFinding, ...]:
    """A warning for each line with HTML; comments, which templates are full of, are none."""
    found: dict[int, str] = {}
    for line, html in _html_in(card.body[:_WITHIN]):
        tag = _TAG.match(html.lstrip())
        if tag and len(found) < _MOST:
            found.setdefault(card.body_line + line, tag[1].lower())
    return tuple(
        CardFinding(
            line, "README.md", "html_shown", f"<{tag}> is shown as it is written.", _FIX, "warning"
        )
        for line, tag in found.items()
    )


def _html_in(body: str) -> Iterator[tuple[int, str]]:
    """Each piece of HTML with its line in the body, from 0."""
    for token in _PARSER.parse(body):
        line = token.map[0] if token.map else 0
        if token.type == "html_block":
            yield line, token.content
        for child in token.children or []:
            if child.type == "html_inline":
                yield line, child.content
            line += child.type in {"softbreak", "hardbreak"}
            line += child.content.count("\n") if child.type == "html_inline" else 0
