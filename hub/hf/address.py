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
    """What ``<revision>/<path>`` means; the path is "" where there is none.

    Clients escape the slashes of a revision and WSGI hands them on unescaped, so that the longest
    beginning that names something has to be looked for: see :func:`revision_along`.

    Raises:
        NotFound: ``revision_not_found``.
    """
    _, revision, path = revision_along(mlmodel, rest)
    return revision, path


def page_answer(
    request: HttpRequest, rows: QuerySet[Row], describe: Callable[[Row], Any]
) -> HttpResponse:
    """The page of ``rows`` that the parameter ``cursor`` asks for, newest first.

    Raises:
        Invalid: ``invalid_cursor``.
    """
    page = keyset_page(rows, name=request.path, cursor=cursor_of(request), limit=_ROWS_PER_PAGE)
    return with_next(request, json_answer([describe(row) for row in page.items]), page.next)


def cursor_of(request: HttpRequest) -> str | None:
    """The parameter ``cursor``; an empty one is none."""
    return request.GET.get("cursor") or None


def with_next(request: HttpRequest, response: HttpResponse, cursor: str | None) -> HttpResponse:
    """``response`` with a link to the page at ``cursor``, if there is one."""
    return next_page(request, response, cursor=cursor) if cursor else response


def next_page(request: HttpRequest, response: HttpResponse, **changed: str) -> HttpResponse:
    """``response``, saying that it goes on where the parameters are ``changed``."""
    query: QueryDict = request.GET.copy()
    for name, value in changed.items():
        query[name] = value
    # Clients fetch the link as it stands, so it names the hub and keeps what was escaped.
    address = absolute(f"{request.get_full_path().partition('?')[0]}?{query.urlencode()}")
    response.headers["Link"] = f'<{address}>; rel="next"'
    return response


def whole_number(request: HttpRequest, name: str, default: int, *, most: int) -> int:
    """The parameter ``name``, at least 0, cut down to ``most``.

    Raises:
        BadRequest: it is no whole number.
    """
    given = request.GET.get(name, "")
    if not given:
        return default
    if not (given.isascii() and given.isdigit() and len(given) <= 18):
        raise BadRequest(f"{name!r} must be a whole number.")
    return min(int(given), most)
