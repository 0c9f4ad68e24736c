"""The history of a revision."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.html import escape

from hub.hf.address import next_page, whole_number
from hub.hf.shapes import commit
from hub.hf.views import json_answer
from registry.selectors.repository.revision import history, revision_get
from registry.tables import MLModel, Revision

_PAGE = 50
_MOST = 1000


def commits(request: HttpRequest, mlmodel: MLModel, rest: str) -> HttpResponse:
    """``GET .../commits/{revision}?p=&limit=&expand[]=formatted``, newest first."""
    per_page = whole_number(request, "limit", _PAGE, most=_MOST) or _PAGE
    page = whole_number(request, "p", 0, most=10**9)
    formatted = "formatted" in {*request.GET.getlist("expand[]"), *request.GET.getlist("expand")}
    first = page * per_page
    revisions = list(history(mlmodel, revision_get(mlmodel, rest))[first : first + per_page + 1])
    shapes = [_shape(revision, formatted=formatted) for revision in revisions[:per_page]]
    response = json_answer(shapes)
    if len(revisions) > per_page:
        next_page(request, response, p=str(page + 1))
    return response


def _shape(revision: Revision, *, formatted: bool) -> dict[str, Any]:
    shape = commit(revision)
    if formatted:
        # Clients show it as HTML.
        shape["formatted"] = {key: escape(shape[key]) for key in ("title", "message")}
    return shape
