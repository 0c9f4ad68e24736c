"""Texts and JSON values in requests."""

import json
import math
import unicodedata
from typing import Any

from registry.errors import Invalid

# Control characters, lone surrogates (which no database stores) and line separators.
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})


def check_text(text: str, *, field: str, most: int, least: int = 0) -> str:
    """``text`` if it has ``least`` to ``most`` characters and fits on one line.

    Raises ``Invalid``: ``invalid_request`` with ``field`` in its fields.
    """
    fault = ""
    if len(text.strip()) < least:
        fault = "is empty" if not text.strip() else f"has fewer than {least} characters"
    elif len(text) > most:
        fault = f"is longer than {most} characters"
    elif unseen(text):
        fault = "contains a control character"
    if fault:
        raise Invalid("invalid_request", f"{field} {fault}.", fields={field: fault})
    return text


def check_lines(text: str, *, what: str, field: str, most: int, least: int = 1) -> str:
    """``text`` without outer blanks, if it has ``least`` to ``most`` characters; it may have lines.

    ``what`` names it in errors. Raises ``Invalid``: ``invalid_request`` with ``field`` in its
    fields.
    """
    text = text.replace("\r\n", "\n").strip()
    fault = ""
    if len(text) < least:
        fault = "is empty"
    elif len(text) > most:
        fault = f"is longer than {most} characters"
    elif unseen(text, but="\n\t"):
        fault = "contains a control character"
    if fault:
        raise Invalid("invalid_request", f"The {what} {fault}.", fields={field: fault})
    return text


def unseen(text: str, *, but: str = "") -> str:
    """The first control character or line separator in ``text``, except ``but``; "" if none."""
    if text.isprintable():
        return ""
    characters = (c for c in text if c not in but and unicodedata.category(c) in _UNSEEN)
    return next(characters, "")


def message_of(title: str, body: str) -> str:
    """A commit message from its title and body."""
    return f"{title.strip()}\n\n{body.strip()}".strip()


def check_json(value: dict[str, Any]) -> dict[str, Any]:
    """``value`` if every database can store it as JSON.

    Raises ``Invalid``: ``invalid_request`` if it contains values that JSON lacks, non-finite
    numbers, or the character U+0000 or lone surrogates, which PostgreSQL rejects.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid("invalid_request", f"The value cannot be stored as JSON: {error}.") from error
    # Without escaped backslashes, this sequence can only be the character itself.
    if "\\u0000" in text.replace("\\\\", ""):
        raise Invalid("invalid_request", "The value contains the character U+0000.")
    return value


def unstorable(value: Any) -> str:
    """The reason why a parsed JSON document cannot be stored; "" if it can."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            return "The document has a number that is too large for a float."
        elif isinstance(item, int) and not -(2**63) <= item < 2**64:
            return "The document has a whole number that is too large for 64 bits."
        elif isinstance(item, str) and not is_storable(item):
            return "The document has the character U+0000 or half a surrogate pair."
    return ""


def is_storable(text: str) -> bool:
    """Whether a database can store the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def one_line(text: str) -> str:
    """``text`` of another program as one line, without invisible characters."""
    visible = "".join(" " if unicodedata.category(c) in _UNSEEN else c for c in text)
    return " ".join(visible.split())


def printable(text: str) -> str:
    """``text`` without U+0000, which crashing processes may print and PostgreSQL rejects."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
