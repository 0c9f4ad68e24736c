"""One range of something longer (RFC 9110, section 14): to go on where a transfer broke off."""

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

_RANGE = re.compile(r"bytes=(?:(\d{1,18})-(\d{1,18})?|-(\d{1,18}))")


class RangeNotSatisfiable(Exception):
    """The range asked for begins behind the end."""


def ranged(
    request: HttpRequest, etag: str, size: int, body: Callable[[int, int], HttpResponseBase]
) -> HttpResponseBase:
    """The whole, or the one range that was asked for, with its length.

    A list of ranges gets the whole; a range that does not exist 416 and ``Content-Range: bytes
    */size``. The caller says that there are ranges (``Accept-Ranges``) and sends the ETag.

    Args:
        body: The answer that holds so many bytes from a position on.
    """
    try:
        wanted = requested_range(request, etag, size)
    except RangeNotSatisfiable:
        refused = HttpResponse(status=416)
        refused.headers["Content-Range"] = f"bytes */{size}"
        return refused
    first, last = wanted or (0, size - 1)
    response = body(first, last - first + 1)
    if wanted:
        response.status_code = 206
        response.headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    response.headers["Content-Length"] = str(last - first + 1)
    return response


def requested_range(request: HttpRequest, etag: str, size: int) -> tuple[int, int] | None:
    """First and last byte asked for, both included; ``None`` for the whole file.

    Raises:
        RangeNotSatisfiable: no byte of the range exists.
    """
    condition = request.headers.get("If-Range")
    match = _RANGE.fullmatch(request.headers.get("Range", "").strip())
    # A range we cannot read is to be ignored, as is one of bytes that have changed since.
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
