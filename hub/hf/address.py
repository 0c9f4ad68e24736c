"""Reads revisions, paths and numbers from addresses of the protocol, and renders pages of lists."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict

from hub.hf.errors import BadRequest
from hub.hf.views import absolute, json_answer
from registry.pagination import keyset_page
from registry.selectors.repository.revision import revision_along
from registry.tables import MLModel, Revision

Row = TypeVar("Row", bound=Model)

_ROWS_PER_PAGE = 100


def revision_and_path(mlmodel: MLModel, rest: str) -> tuple[Revision, str]:
    """Revision and path of ``<revision>/<path>``; the path may be "".

    The revision is the longest prefix that names one (:func:`revision_along`), because WSGI passes
    its slashes unescaped. Raises ``NotFound``: ``revision_not_found``.
    """
    _, revision, path = revision_along(mlmodel, rest)
    return revision, path


def page_answer(
    request: HttpRequest, rows: QuerySet[Row], describe: Callable[[Row], Any]
) -> HttpResponse:
    """The page of ``rows`` at ``cursor``, newest first. Raises ``Invalid``: ``invalid_cursor``."""
    page = keyset_page(rows, name=request.path, cursor=cursor_of(request), limit=_ROWS_PER_PAGE)
    return with_next(request, json_answer([describe(row) for row in page.items]), page.next)


def cursor_of(request: HttpRequest) -> str | None:
    """The parameter ``cursor``; ``None`` if it is missing or empty."""
    return request.GET.get("cursor") or None


def with_next(request: HttpRequest, response: HttpResponse, cursor: str | None) -> HttpResponse:
    """``response`` with a link to the page at ``cursor``, if there is one."""
    return next_page(request, response, cursor=cursor) if cursor else response


def next_page(request: HttpRequest, response: HttpResponse, **changed: str) -> HttpResponse:
    """``response`` with a link to the next page, whose address has the parameters ``changed``."""
    query: QueryDict = request.GET.copy()
    for name, value in changed.items():
        query[name] = value
    # Clients fetch the link verbatim: it is absolute, and its path keeps its escapes.
    address = absolute(f"{request.get_full_path().partition('?')[0]}?{query.urlencode()}")
    response.headers["Link"] = f'<{address}>; rel="next"'
    return response


def whole_number(request: HttpRequest, name: str, default: int, *, most: int) -> int:
    """The parameter ``name``, at most ``most``; raises ``BadRequest`` if it is no whole number."""
    text = request.GET.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise BadRequest(f"{name!r} must be a whole number.")
    return min(int(text), most)
