"""Cards that the tests of what is read from them write."""

from typing import Any

from registry.fair.card.card import CardFacts, read
from registry.validation.card import parse


def facts_of(matter: str, body: str = "", **more: Any) -> CardFacts:
    return read(parse(f"---\n{matter}\n---\n{body}".encode()), **more)


def told(facts: CardFacts) -> list[tuple[int, str, str]]:
    return [(one.line, one.field, one.code) for one in facts.findings]
