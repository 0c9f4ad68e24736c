"""Middleware for all addresses: request ids, cross-origin reading of the API, answers to HEAD."""

import re
import uuid
from collections.abc import Callable
from typing import TypeAlias

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from hub.headers import shared

View: TypeAlias = Callable[[HttpRequest], HttpResponseBase]

#: Visible ASCII; hub/nginx.conf has the same rule.
_REQUEST_ID = re.compile(r"[!-~]{1,128}")
_META_KEY = "hub.request_id"
#: Addresses that programs in browsers use: the APIs, and files of repositories.
_FOR_PROGRAMS = re.compile(r"/api/|/(?:datasets/)?(?:[^/]+/){1,2}resolve/")
#: Older browsers do not support a wildcard.
_EXPOSED = (
    "Accept-Ranges, Content-Disposition, Content-Range, ETag, Link, Location, RateLimit, "
    "RateLimit-Policy, Repr-Digest, Retry-After, X-Error-Code, X-Error-Message, X-Linked-ETag, "
    "X-Linked-Size, X-Repo-Commit, X-Request-Id, X-Xet-Access-Token, X-Xet-Cas-Url, "
    "X-Xet-Hash, X-Xet-Token-Expiration"
)
_REQUESTED = re.compile(r"[0-9A-Za-z!#$%&'*+.^_`|~, -]{1,1000}")


def request_id_of(request: HttpRequest) -> str:
    """The id of the request: the sender's ``X-Request-Id`` or ``X-Amzn-Trace-Id``, else a new one.

    Values that are not up to 128 visible ASCII characters are replaced.
    """
    if _META_KEY not in request.META:
        names = ("X-Request-Id", "X-Amzn-Trace-Id")
        stated = (request.headers.get(name, "") for name in names)
        valid = next((one for one in stated if _REQUEST_ID.fullmatch(one)), None)
        request.META[_META_KEY] = valid or str(uuid.uuid4())
    return str(request.META[_META_KEY])


def request_ids(get_response: View) -> View:
    """Middleware that adds ``X-Request-Id`` to each response, for logs of both sides."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        request_id = request_id_of(request)
        response = get_response(request)
        response.headers["X-Request-Id"] = request_id
        return response

    return middleware


def bodiless_head(get_response: View) -> View:
    """Middleware that removes the bodies of answers to HEAD, and keeps their lengths.

    A body after the headers would be read as the next answer of the connection (RFC 9110, 9.3.2).
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if request.method != "HEAD":
            return response
        if isinstance(response, StreamingHttpResponse):
            response.streaming_content = iter(())
        elif isinstance(response, HttpResponse):
            response.headers.setdefault("Content-Length", str(len(response.content)))
            response.content = b""
        return response

    return middleware


def cross_origin(get_response: View) -> View:
    """Middleware that lets scripts of all sites use the APIs, but never a visitor's session.

    Scripts authenticate by a token of their own. Requests with cookies get no permission, so that
    no browser stores a visitor's answer as one that other sites may read.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not _FOR_PROGRAMS.match(request.path):
            return get_response(request)
        is_foreign = "Origin" in request.headers and not request.COOKIES
        if is_foreign and "Access-Control-Request-Method" in request.headers:
            return _preflight(request)
        response = get_response(request)
        if response.has_header("Access-Control-Allow-Origin"):
            # Public files, which all sites may read in every case.
            return response
        patch_vary_headers(response, ["Origin"])
        if is_foreign:
            shared(response)
            response.headers["Access-Control-Expose-Headers"] = _EXPOSED
        return response

    return middleware


def _preflight(request: HttpRequest) -> HttpResponse:
    """The answer to a browser that asks before it sends a script's request."""
    response = HttpResponse(status=204)
    response.headers["Access-Control-Allow-Origin"] = "*"
    response.headers["Access-Control-Allow-Methods"] = "GET, HEAD, POST, PUT, PATCH, DELETE"
    # A wildcard does not include Authorization, so that the requested names are repeated.
    requested = request.headers.get("Access-Control-Request-Headers", "")
    if _REQUESTED.fullmatch(requested):
        response.headers["Access-Control-Allow-Headers"] = requested
    response.headers["Access-Control-Max-Age"] = "7200"
    patch_vary_headers(response, ["Origin", "Access-Control-Request-Headers"])
    return response
