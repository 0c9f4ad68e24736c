"""Parses JSON bodies, and refuses values that a database cannot store."""

import math
from collections.abc import Mapping
from typing import IO, Any

from rest_framework import parsers
from rest_framework.exceptions import ParseError


class JSONParser(parsers.JSONParser):
    """JSON, without values that PostgreSQL or later readers cannot represent.

    It refuses nesting beyond Python's stack, U+0000, lone surrogates, and numbers such as ``1e999``
    that overflow a float.
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
    """The reason why a parsed document cannot be stored; "" if it can."""
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
        elif isinstance(item, str) and not is_storable(item):
            return "The document has the character U+0000 or half a surrogate pair."
    return ""


def is_storable(text: str) -> bool:
    """Whether a database can store the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)
