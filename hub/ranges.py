"""Range requests (RFC 9110, section 14), with one range, which resumes an interrupted transfer."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")


class RangeNotSatisfiable(Exception):
    """The requested range starts after the end."""


def ranged(
    request: HttpRequest, etag: str, size: int, body: Callable[[int, int], HttpResponseBase]
) -> HttpResponseBase:
    """The whole content, or the requested range, with its length.

    A list of ranges gets the whole content; a range outside it gets 416 and ``Content-Range: bytes
    */size``. ``size`` is the whole length in bytes; ``body(first, length)`` makes the response with
    these bytes. The caller sets ``Accept-Ranges`` and the ETag.
    """
    try:
        requested = requested_range(request, etag, size)
    except RangeNotSatisfiable:
        outside = HttpResponse(status=416)
        outside.headers["Content-Range"] = f"bytes */{size}"
        return outside
    first, last = requested or (0, size - 1)
    response = body(first, last - first + 1)
    if requested:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    response.headers["Content-Length"] = str(last - first + 1)
    return response


def requested_range(request: HttpRequest, etag: str, size: int) -> tuple[int, int] | None:
    """First and last byte requested, inclusive; ``None``: all. Raises ``RangeNotSatisfiable``."""
    condition = request.headers.get("If-Range")
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    # Unreadable ranges are ignored, and so are ranges of bytes that have changed since.
    if request.method != "GET" or match is None or (condition and condition.strip() != etag):
        return None
    first, last, suffix = match.groups()
    if suffix is not None:
        if int(suffix) == 0 or size == 0:
            raise RangeNotSatisfiable
        return max(0, size - int(suffix)), size - 1
    if last is not None and int(last) < int(first):
        return None
    if int(first) >= size:
        raise RangeNotSatisfiable
    return int(first), min(int(last), size - 1) if last is not None else size - 1
