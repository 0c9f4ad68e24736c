"""The body of a commit: one JSON object per line, parsed as it arrives.

::

    {"key": "header", "value": {"summary": "...", "description": "...", "parentCommit": "..."}}
    {"key": "file", "value": {"path": "...", "encoding": "base64", "content": "..."}}
    {"key": "lfsFile", "value": {"path": "...", "algo": "sha256", "oid": "...", "size": 1}}
    ...

Only ``content`` may be long. It is cut out of its line before the rest is parsed, and decoded in
pieces, never as a Python string. A request holds one line in memory, whose length is bounded by the
largest file that is not sent by LFS or Xet.
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

#: Length of a line without its content; parsed JSON takes many times its length in memory.
MAX_REST_BYTES = 1 << 16
MAX_LINE_BYTES = 4 * math.ceil(LARGE_BYTES / 3) + MAX_REST_BYTES
MAX_LINES = 50_000

# The key is between unescaped quotation marks, so this never matches inside a string.
# "*+" does not backtrack.
_CONTENT = re.compile(rb'"content"\s*+:\s*+"([A-Za-z0-9+/]*+={0,2})"')


class Base64:
    """A stream that decodes base64 as it is read."""

    def __init__(self, text: memoryview) -> None:
        """``text``: base64 and padding. Raises ``BadRequest`` unless 4 divides its length."""
        if len(text) % 4:
            raise BadRequest("The content of a file is incomplete: its base64 has no whole length.")
        self._text = text
        padding = bytes(text[-2:]).count(b"=")
        self.size_bytes = len(text) // 4 * 3 - padding

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, and at least 3 before the end."""
        part, self._text = self._text[: max(4, size // 3 * 4)], self._text[max(4, size // 3 * 4) :]
        return binascii.a2b_base64(part)


@dataclass(frozen=True, slots=True)
class CommitLine:
    """A line: key, value without ``content``, and content."""

    key: str
    value: dict[str, Any]
    content: Base64 | None


def lines_of(request: HttpRequest) -> Iterator[CommitLine]:
    """The lines of the body, without empty ones.

    Raises ``BadRequest`` for a malformed line, ``TooLarge``: ``body_too_large`` for a long one or
    too many, and ``UnreadablePostError`` for a body shorter than announced.
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
    # A truncated body must not become a partial commit.
    if announced > 0:
        raise UnreadablePostError("the body is incomplete")


def _parse(line: bytes) -> CommitLine:
    rest, content = line, None
    if match := _CONTENT.search(line):
        rest = line[: match.start(1)] + line[match.end(1) :]
        content = Base64(memoryview(line)[match.start(1) : match.end(1)])
    if len(rest) > MAX_REST_BYTES:
        raise BadRequest("A line is too long, or its content is not base64.")
    try:
        data = json.loads(rest.decode())
    except (ValueError, RecursionError) as error:
        raise BadRequest(f"A line is not JSON: {error}.") from None
    value = data.get("value") if isinstance(data, dict) else None
    if not isinstance(value, dict) or not isinstance(data.get("key"), str):
        raise BadRequest("A line must be an object of 'key' and 'value'.")
    # The cut leaves an empty string; any other value is a second content.
    if value.pop("content", None) != ("" if content else None):
        raise BadRequest("The content of a file must be given once, in base64.")
    return CommitLine(data["key"], value, content)
