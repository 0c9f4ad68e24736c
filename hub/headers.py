"""Response headers that control what browsers do: content policy and cross-origin reading."""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase

Response = TypeVar("Response", bound=HttpResponseBase)

# Content-Security-Policy of the pages (https://www.w3.org/TR/CSP3/): all scripts and styles are
# files of the hub; READMEs show pictures of other sites.
_POLICY = (
    "default-src 'self'; img-src 'self' data: https:; object-src 'none'; frame-src 'none'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def content_policy(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that adds the content policy to HTML pages that do not have their own."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", _POLICY)
        return response

    return middleware


def shared(response: Response) -> Response:
    """Let scripts of other sites read ``response`` (https://fetch.spec.whatwg.org, CORS).

    DANGER: only for answers that are the same for all users.
    """
    response.headers["Access-Control-Allow-Origin"] = "*"
    # Scripts see Link and ETag only if these are exposed.
    response.headers["Access-Control-Expose-Headers"] = "*"
    return response


def shared_if_public(response: Response) -> Response:
    """:func:`shared` if public caches may store ``response``, else the response unchanged."""
    is_public = response.headers.get("Cache-Control", "").startswith("public")
    return shared(response) if is_public else response
