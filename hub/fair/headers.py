"""Typed links of the answers about a record: FAIR Signposting, level 2."""

from typing import TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from registry.fair import signposting
from registry.fair.description import Description

Response = TypeVar("Response", bound=HttpResponseBase)


def typed(response: Response, description: Description, request: HttpRequest) -> Response:
    """``response``, the landing page of a version in whatever format, with its links.

    ``Vary`` says that the same address has others to give.
    """
    anchor = f"{description.hub.url}{request.get_full_path()}"
    links = signposting.of_landing(description, anchor=anchor)
    response.headers["Link"] = signposting.header(links)
    patch_vary_headers(response, ["Accept"])
    return response


def of_version(response: Response, description: Description) -> Response:
    """``response``, something that belongs to a version, with the link to its page."""
    link = signposting.typed("", "collection", description.landing, "text/html")
    response.headers["Link"] = signposting.header([link])
    return response


def harmless(response: Response) -> Response:
    """``response`` such that no browser runs what strangers wrote into it."""
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
    return response
