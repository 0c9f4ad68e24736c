"""Content-Security-Policy of the pages (https://www.w3.org/TR/CSP3/)."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Scripts and styles are files of the hub, without exception. READMEs show pictures of other sites.
_POLICY = (
    "default-src 'self'; img-src 'self' data: https:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)


def content_policy(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware that gives each HTML page this policy, unless it has a stricter one."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", _POLICY)
        return response

    return answer
