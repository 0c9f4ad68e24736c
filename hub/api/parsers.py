"""Parses JSON bodies, and refuses values that a database cannot store."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework import parsers
from rest_framework.exceptions import ParseError

from registry.validation.texts import unstorable


class JSONParser(parsers.JSONParser):
    """JSON, without values that PostgreSQL or later readers cannot represent.

    It refuses nesting beyond Python's stack, U+0000, lone surrogates, and numbers such as ``1e999``
    that overflow a float or 64 bits.
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
