"""JSON that every database gives back as it was put in."""

import json
from typing import Any

from registry.errors import Invalid


def check_json(value: dict[str, Any]) -> dict[str, Any]:
    """``value`` if it can be stored as JSON.

    Raises:
        Invalid: ``invalid_request``: it holds something JSON has not, a number that is not
            finite, or the character U+0000, which PostgreSQL refuses.
    """
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid("invalid_request", f"That cannot be stored as JSON: {error}.") from error
    # The text, but for an escaped backslash before it, can only come from the character itself.
    if "\\u0000" in text.replace("\\\\", ""):
        raise Invalid("invalid_request", "That holds the character U+0000.")
    return value


def printable(text: str) -> str:
    """``text`` without U+0000, which a crashing child may well print and PostgreSQL refuses."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}")
