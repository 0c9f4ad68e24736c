"""Headers of answers about records: typed links (FAIR Signposting, level 2) and protection."""

from http import HTTPStatus
from typing import TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from registry.fair import signposting
from registry.fair.description import Description

Response = TypeVar("Response", bound=HttpResponseBase)


def typed(
    response: Response, description: Description, request: HttpRequest, location: str
) -> Response:
    """``response``, a landing page in any format, with its links and ``Vary: Accept``.

    ``location`` is the address that always names this representation. The address of a repository
    and that of its newest version show the same page, and say so with it (RFC 9110, section 8.7).
    """
    if response.status_code == HTTPStatus.OK:
        response.headers["Content-Location"] = location
    anchor = f"{description.hub.url}{request.get_full_path()}"
    links = signposting.of_landing(description, anchor=anchor)
    response.headers["Link"] = signposting.header(links)
    patch_vary_headers(response, ["Accept"])
    return response


def of_version(response: Response, description: Description) -> Response:
    """``response``, a part of a version, with links to the version's pages."""
    links = signposting.of_part("", description.pages, description.linkset_url)
    response.headers["Link"] = signposting.header(links)
    return response


def harmless(response: Response) -> Response:
    """``response`` with headers that keep browsers from running untrusted content."""
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
