"""Bodies: JSON that every database can hold."""

import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import parsers
from rest_framework.exceptions import ParseError


class JSONParser(parsers.JSONParser):
    """JSON, without what JSON allows but PostgreSQL or a later reader cannot take.

    Refused: nesting beyond Python's stack, U+0000, lone surrogates, and numbers such as ``1e999``
    that only a float infinity could hold.
    """

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        try:
            value = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The document is nested too deeply.") from error
        problem = unstorable(value)
        if problem:
            raise ParseError(problem)
        return value


def unstorable(value: Any) -> str:
    """What in a parsed document cannot be stored, as a sentence; empty if nothing."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, float) and not math.isfinite(item):
            return "The document holds a number too large for a float."
        elif isinstance(item, str) and not is_storable(item):
            return "The document holds the character U+0000 or half a surrogate pair."
    return ""


def is_storable(text: str) -> bool:
    """Whether a database can hold the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
