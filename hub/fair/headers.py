"""Headers of answers about records: typed links (FAIR Signposting, level 2) and protection."""

from typing import TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from registry.fair import signposting
from registry.fair.description import Description

Response = TypeVar("Response", bound=HttpResponseBase)


def typed(response: Response, description: Description, request: HttpRequest) -> Response:
    """``response``, a landing page in any format, with its links and ``Vary: Accept``."""
    anchor = f"{description.hub.url}{request.get_full_path()}"
    links = signposting.of_landing(description, anchor=anchor)
    response.headers["Link"] = signposting.header(links)
    patch_vary_headers(response, ["Accept"])
    return response


def of_version(response: Response, description: Description) -> Response:
    """``response``, a part of a version, with the link to the version's page."""
    link = signposting.typed("", "collection", description.landing, "text/html")
    response.headers["Link"] = signposting.header([link])
    return response


def harmless(response: Response) -> Response:
    """``response`` with headers that keep browsers from running untrusted content."""
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
