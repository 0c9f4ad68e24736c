"""Warnings about HTML in a card, which the hub shows as text."""

import re
from collections.abc import Iterator

from registry.validation.bounded_markdown import BoundedParser, TooCostly
from registry.validation.card import Card
from registry.validation.findings import CardFinding

# Bounds on the parsed characters, since a card may have a megabyte, and on the warnings.
_MAX_CHARACTERS = 100_000
_MAX_WARNINGS = 20
_PARSER = BoundedParser()
_TAG = re.compile(r"</?\s*([A-Za-z][A-Za-z0-9-]{0,50})")
_FIX = "Write it in Markdown; the hub does not render HTML."


def markup(card: Card) -> tuple[CardFinding, ...]:
    """A warning for each line with HTML; comments, which are common in templates, are ignored."""
    tags: dict[int, str] = {}
    for line, html in _html_in(card.body[:_MAX_CHARACTERS]):
        tag = _TAG.match(html.lstrip())
        if tag and len(tags) < _MAX_WARNINGS:
            tags.setdefault(card.body_line + line, tag[1].lower())
    return tuple(
        CardFinding(line, "README.md", "html_shown", f"<{tag}> is shown as text.", _FIX, "warning")
        for line, tag in tags.items()
    )


def _html_in(body: str) -> Iterator[tuple[int, str]]:
    """HTML fragments with their lines in the body, from 0."""
    try:
        tokens = _PARSER.parse(body)
    except TooCostly:
        return
    for token in tokens:
        line = token.map[0] if token.map else 0
        if token.type == "html_block":
            yield line, token.content
        for child in token.children or []:
            if child.type == "html_inline":
                yield line, child.content
            line += child.type in {"softbreak", "hardbreak"}
            line += child.content.count("\n") if child.type == "html_inline" else 0
