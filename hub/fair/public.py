"""Public documents: content negotiation and cacheable answers."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import http_date

from hub.fair.headers import harmless
from hub.headers import shared

PAGE = "text/html"
TURTLE = "text/turtle"
JSONLD = "application/ld+json"


def preferred_type(request: HttpRequest, offered: Sequence[str]) -> str:
    """The type in ``offered`` that ``Accept`` prefers, by default the first (RFC 9110, 12.5.1)."""
    try:
        preferred = request.get_preferred_type(list(offered))
    except ValueError:
        # Malformed header.
        preferred = None
    return preferred or offered[0]


def public(
    request: HttpRequest, data: bytes, content_type: str, *, modified: datetime | None = None
) -> HttpResponse:
    """``data`` for everyone, including scripts of other sites; 304 if the client has it.

    ``modified`` is the time of the latest change, for clients that do not keep entity tags.
    """
    charset = "; charset=utf-8" if content_type.startswith("text/") else ""
    response = harmless(HttpResponse(data, content_type=f"{content_type}{charset}"))
    response.headers["ETag"] = etag = f'"{hashlib.sha256(data).hexdigest()}"'
    response.headers["Cache-Control"] = "public, no-cache"
    seconds = int(modified.timestamp()) if modified else None
    if seconds is not None:
        response.headers["Last-Modified"] = http_date(seconds)
    answer = get_conditional_response(request, etag=etag, last_modified=seconds, response=response)
    return shared(cast("HttpResponse", answer))
