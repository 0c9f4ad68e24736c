"""What a browser may load and run on the hub's pages (https://www.w3.org/TR/CSP3/)."""

from collections.abc import Callable

from django.http import HttpRequest
from django.http.response import HttpResponseBase

# Templates, charts and HTMX write styles into pages; scripts are files of the hub, without
# exception. READMEs show pictures of other sites.
_POLICY = (
    "default-src 'self'; img-src 'self' data: https:; style-src 'self' 'unsafe-inline'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# Of a library, which runs scripts of its own within it.
_OTHERS = frozenset({"/api/docs"})


def content_policy(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Middleware: pages that have no stricter policy of their own get the hub's."""

    def answered(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        is_page = response.headers.get("Content-Type", "").startswith("text/html")
        if is_page and request.path not in _OTHERS:
            response.headers.setdefault("Content-Security-Policy", _POLICY)
        return response

    return answered
