"""Reading of a card's values, with a finding at the line of each faulty one."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from registry.validation.card import Card
from registry.validation.findings import CardFinding, InvalidValue, Severity, nearest
from registry.validation.yaml_tree import Path

MAX_TEXT = 20_000
MAX_FINDINGS = 100
# Characters that XML cannot represent, though a card may contain them.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_EMPTY_FIX = "Write a value or remove the line."


@dataclass(slots=True)
class CardReader:
    """A card that is being read, with the findings so far."""

    card: Card
    findings: list[CardFinding] = field(default_factory=list)

    def top(self, key: str) -> "CardValue":
        """The value of a top key."""
        return CardValue(self, (key,), self.card.values.get(key))

    def at(self, line: int, field: str, code: str, message: str, fix: str) -> None:
        """Add a warning about a line outside the card's values."""
        self.add(CardFinding(line, field, code, message, fix, "warning"))

    def add(self, finding: CardFinding) -> None:
        """Add a finding; those beyond :data:`MAX_FINDINGS` are dropped."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def texts(self, key: str) -> list[str]:
        """The texts of a top key that holds a text or a list of texts."""
        return [text for item in self.top(key).items() if (text := item.text())]


@dataclass(frozen=True, slots=True)
class CardValue:
    """A value of the card with its path; ``None`` if the card has none there."""

    reader: CardReader
    path: Path
    value: Any

    @property
    def field(self) -> str:
        """The path as text, such as ``authors[0].orcid``."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(parts).removeprefix(".")

    def note(self, code: str, message: str, fix: str, severity: Severity = "error") -> None:
        """Add a finding at this value."""
        line = self.reader.card.line_of(self.path)
        self.reader.add(CardFinding(line, self.field, code, message, fix, severity))

    def entry(self, key: str) -> "CardValue":
        """The value of ``key`` in a mapping."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return CardValue(self.reader, (*self.path, key), value)

    def items(self) -> list["CardValue"]:
        """The entries of a list; a single value counts as a list of one."""
        if not isinstance(self.value, list):
            return [self] if self.value not in (None, "") else []
        entries = [
            CardValue(self.reader, (*self.path, n), item) for n, item in enumerate(self.value)
        ]
        for entry in entries:
            if entry.value in (None, ""):
                entry.note("value_empty", f"An entry of {self.field} is empty.", _EMPTY_FIX)
        return [entry for entry in entries if entry.value not in (None, "")]

    def text(self, limit: int = MAX_TEXT) -> str | None:
        """The value as text, up to ``limit`` characters; ``None`` for lists and mappings."""
        if isinstance(self.value, dict | list):
            self.note("value_form", f"{self.field} must be a text.", "Write one text.")
            return None
        if self.value is None:
            return None
        text = clean(str(self.value).lower() if isinstance(self.value, bool) else str(self.value))
        if len(text) > limit:
            message = f"{self.field} has {len(text)} characters, of which {limit} are used."
            fix = "Put the rest into the text below the card's values."
            self.note("text_long", message, fix, "warning")
        return text[:limit] or None

    def checked(self, check: Callable[[str], str]) -> str | None:
        """The value as normalised by ``check``; ``None`` with a finding if that rejects it."""
        text = self.text()
        if text is None:
            return None
        try:
            return check(text) or None
        except InvalidValue as error:
            self.note(error.code, error.message, error.fix)
            return None

    def number(self) -> float | None:
        """The value if it is a number, or a text of one."""
        try:
            return None if isinstance(self.value, bool) else float(self.value)
        except (TypeError, ValueError, OverflowError):
            return None

    def only(self, keys: tuple[str, ...]) -> None:
        """Add a warning for each key of a mapping that is not in ``keys``."""
        for key in self.value if isinstance(self.value, dict) else ():
            if key not in keys:
                self.entry(key).note(
                    "key_unknown",
                    f"The key {key[:100]!r} is not supported here.",
                    f"{nearest(key, keys)}Supported keys: {', '.join(keys)}.",
                    "warning",
                )


def clean(text: str) -> str:
    """``text`` without characters that some serialisation cannot represent."""
    return _UNWRITABLE.sub("", text).strip()
