"""The body of a commit: a JSON object a line, read as it arrives.

::

    {"key": "header", "value": {"summary": "...", "description": "...", "parentCommit": "..."}}
    {"key": "file", "value": {"path": "...", "encoding": "base64", "content": "..."}}
    {"key": "lfsFile", "value": {"path": "...", "algo": "sha256", "oid": "...", "size": 1}}
    ...

Only ``content`` may be long, and it never becomes a Python string: it is cut out of its line
before the rest is parsed, and decoded piece by piece. A request holds one line in memory, as long
as the longest file that is not large may make it.
"""

import binascii
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, UnreadablePostError

from hub.hf.errors import BadRequest
from registry.errors import TooLarge
from registry.validation.attributes import LARGE_BYTES

#: Of a line without its content; JSON takes many times its length in memory.
MAX_REST_BYTES = 1 << 16
MAX_LINE_BYTES = 4 * math.ceil(LARGE_BYTES / 3) + MAX_REST_BYTES
MAX_LINES = 50_000

# An unescaped quotation mark stands before and after the key, so this is never part of a text.
# "*+" does not backtrack.
_CONTENT = re.compile(rb'"content"\s*+:\s*+"([A-Za-z0-9+/]*+={0,2})"')


class Base64:
    """Bytes given in base64, as a stream that decodes what is read."""

    def __init__(self, text: memoryview) -> None:
        """``text`` is of base64's letters and padding alone.

        Raises:
            BadRequest: that is not the base64 of anything.
        """
        if len(text) % 4:
            raise BadRequest("A file's content is cut off: its base64 has no whole length.")
        self._text = text
        padding = bytes(text[-2:]).count(b"=")
        self.size_bytes = len(text) // 4 * 3 - padding

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, at least 3 of them unless the end is reached."""
        taken, self._text = self._text[: max(4, size // 3 * 4)], self._text[max(4, size // 3 * 4) :]
        return binascii.a2b_base64(taken)


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its key and value, ``content`` apart."""

    key: str
    value: dict[str, Any]
    content: Base64 | None


def lines_of(request: HttpRequest) -> Iterator[Line]:
    """The lines of the body, empty ones left out.

    Raises:
        BadRequest: a line is no such object.
        TooLarge: ``body_too_large``: a line is too long, or there are too many.
        UnreadablePostError: the body ended before its announced length.
    """
    announced = int(request.META.get("CONTENT_LENGTH") or 0)
    count = 0
    while line := request.readline(MAX_LINE_BYTES + 1):
        announced -= len(line)
        count += 1
        if len(line) > MAX_LINE_BYTES:
            raise TooLarge(
                "body_too_large",
                f"A line of a commit may have {MAX_LINE_BYTES} bytes.",
                "Send large files by Xet or LFS, before the commit.",
            )
        if count > MAX_LINES:
            raise TooLarge(
                "body_too_large",
                f"A commit may have {MAX_LINES} lines.",
                "Make several commits.",
            )
        if not line.isspace():
            yield _parse(line)
    # Else a commit whose sender died half-way would take effect by half.
    if announced > 0:
        raise UnreadablePostError("the body was cut off")


def _parse(line: bytes) -> Line:
    rest, content = line, None
    if match := _CONTENT.search(line):
        rest = line[: match.start(1)] + line[match.end(1) :]
        content = Base64(memoryview(line)[match.start(1) : match.end(1)])
    if len(rest) > MAX_REST_BYTES:
        raise BadRequest("A line is too long, or its content is not base64.")
    try:
        data = json.loads(rest.decode())
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"A line is no JSON: {error}.") from None
    value = data.get("value") if isinstance(data, dict) else None
    if not isinstance(value, dict) or not isinstance(data.get("key"), str):
        raise BadRequest("A line must be an object of 'key' and 'value'.")
    # What was cut out leaves an empty text; anything else is not what was cut out.
    if value.pop("content", None) != ("" if content else None):
        raise BadRequest("The content of a file must be given once, in base64.")
    return Line(data["key"], value, content)
