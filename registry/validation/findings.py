"""What is wrong in a card, said so that its author can mend it."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class CardFinding:
    """One fault of README.md.

    Attributes:
        line: Of README.md, from 1.
        field: Where it stands in the card's values, such as ``authors[0].orcid``.
        code: A stable snake_case word for programs.
        message: What is wrong, in a sentence.
        fix: What to do, in a sentence.
        severity: ``error``: the value is left out of the record; ``warning``: it is taken.
    """

    line: int
    field: str
    code: str
    message: str
    fix: str
    severity: Severity = "error"


class InvalidValue(ValueError):
    """A value that is not what it should be; who knows its line makes a finding of it."""

    def __init__(self, code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix


def nearest(word: str, known: Iterable[str]) -> str:
    """The beginning of a hint: ``Did you mean 'Software'? ``, "" if nothing known is like it."""
    spelled = {one.casefold(): one for one in known}
    near = difflib.get_close_matches(word[:100].casefold(), spelled, n=1, cutoff=0.6)
    return f"Did you mean {spelled[near[0]]!r}? " if near else ""
