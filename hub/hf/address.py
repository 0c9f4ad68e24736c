"""Taking apart what addresses of the protocol hold, and making the next page's."""

from django.http import HttpRequest, HttpResponse, QueryDict

from hub.hf.errors import BadRequest
from hub.hf.views import absolute
from registry.selectors.repository.revision import revision_along
from registry.tables import MLModel, Revision


def revision_and_path(mlmodel: MLModel, rest: str) -> tuple[Revision, str]:
    """What ``<revision>/<path>`` means; the path is "" where there is none.

    Clients escape the slashes of a revision and WSGI hands them on unescaped, so that the longest
    beginning that names something has to be looked for: see :func:`revision_along`.

    Raises:
        NotFound: ``revision_not_found``.
    """
    _, revision, path = revision_along(mlmodel, rest)
    return revision, path


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
