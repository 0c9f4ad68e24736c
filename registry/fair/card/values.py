"""Reads the values of a card one by one and notes what is wrong with them, and where."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from registry.validation.card import Card
from registry.validation.findings import CardFinding, InvalidValue, Severity, nearest
from registry.validation.yaml_tree import Path

MAX_TEXT = 20_000
MAX_FINDINGS = 100
# What no XML document can hold, though a card's body may.
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")
_EMPTY_FIX = "Write a value or remove the line."


@dataclass(slots=True)
class CardReader:
    """The findings of one card, as they are made."""

    card: Card
    findings: list[CardFinding] = field(default_factory=list)

    def top(self, key: str) -> "CardValue":
        """The value of a top key."""
        return CardValue(self, (key,), self.card.values.get(key))

    def at(self, line: int, field: str, code: str, message: str, fix: str) -> None:
        """Warn of what stands in no value of the card."""
        self.add(CardFinding(line, field, code, message, fix, "warning"))

    def add(self, finding: CardFinding) -> None:
        """Take a finding, up to :data:`MAX_FINDINGS`: nobody reads more."""
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(finding)

    def texts(self, key: str) -> list[str]:
        """The texts of a top key that holds one or a list of them."""
        return [text for item in self.top(key).items() if (text := item.text())]


@dataclass(frozen=True, slots=True)
class CardValue:
    """A value of the card and the way to it; ``None`` where the card says nothing there."""

    notes: CardReader
    path: Path
    value: Any

    @property
    def field(self) -> str:
        """The way as people write it: ``authors[0].orcid``."""
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in self.path)
        return "".join(parts).removeprefix(".")

    def note(self, code: str, message: str, fix: str, severity: Severity = "error") -> None:
        """Say what is wrong here."""
        line = self.notes.card.line_of(self.path)
        self.notes.add(CardFinding(line, self.field, code, message, fix, severity))

    def entry(self, key: str) -> "CardValue":
        """What a mapping has under ``key``."""
        value = self.value.get(key) if isinstance(self.value, dict) else None
        return CardValue(self.notes, (*self.path, key), value)

    def items(self) -> list["CardValue"]:
        """The entries of a list, or the one value that stands for a list of one."""
        if not isinstance(self.value, list):
            return [self] if self.value not in (None, "") else []
        places = [CardValue(self.notes, (*self.path, n), item) for n, item in enumerate(self.value)]
        for place in places:
            if place.value in (None, ""):
                place.note("value_empty", f"An entry of {self.field} is empty.", _EMPTY_FIX)
        return [place for place in places if place.value not in (None, "")]

    def text(self, most: int = MAX_TEXT) -> str | None:
        """The value as text, if there is one and it is no list or mapping."""
        if isinstance(self.value, dict | list):
            self.note("value_form", f"{self.field} must be a text.", "Write one text.")
            return None
        if self.value is None:
            return None
        text = clean(str(self.value).lower() if isinstance(self.value, bool) else str(self.value))
        if len(text) > most:
            message = f"{self.field} has {len(text)} characters, of which {most} are taken."
            self.note("text_long", message, "Say the rest in the text below the card.", "warning")
        return text[:most] or None

    def checked(self, check: Callable[[str], str]) -> str | None:
        """The value as ``check`` spells it; where it finds a fault, that is noted."""
        text = self.text()
        if text is None:
            return None
        try:
            return check(text) or None
        except InvalidValue as fault:
            self.note(fault.code, fault.message, fault.fix)
            return None

    def number(self) -> float | None:
        """The value if it is a number, or a text that spells one."""
        try:
            return None if isinstance(self.value, bool) else float(self.value)
        except (TypeError, ValueError, OverflowError):
            return None

    def only(self, known: tuple[str, ...]) -> None:
        """Warn of keys of a mapping that are none of ``known``."""
        for key in self.value if isinstance(self.value, dict) else ():
            if key not in known:
                self.entry(key).note(
                    "key_unknown",
                    f"{key[:100]!r} is not read here.",
                    f"{nearest(key, known)}Known are: {', '.join(known)}.",
                    "warning",
                )


def clean(text: str) -> str:
    """``text`` without the characters that some serialisation could not hold."""
    return _UNWRITABLE.sub("", text).strip()
