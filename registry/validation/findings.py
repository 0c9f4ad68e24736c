"""Findings about a card, with advice for its author."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CardFinding:
    """One finding about README.md.

    Attributes:
        line: Line in README.md, from 1.
        field: Path of the value, such as ``authors[0].orcid``.
        code: A stable snake_case code.
        message: The fault, as a sentence.
        fix: The advice, as a sentence.
        severity: ``error``: the value is left out of the record; ``warning``: it is used.
    """

    line: int
    field: str
    code: str
    message: str
    fix: str
    severity: Severity = "error"


class InvalidValue(ValueError):
    """An invalid value; readers of cards turn it into a :class:`CardFinding` at its line."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix


def nearest(word: str, terms: Iterable[str]) -> str:
    """The start of a hint, ``Did you mean 'Software'? ``; "" if no term is similar."""
    spellings = {term.casefold(): term for term in terms}
    near = difflib.get_close_matches(word[:100].casefold(), spellings, n=1, cutoff=0.6)
    return f"Did you mean {spellings[near[0]]!r}? " if near else ""
