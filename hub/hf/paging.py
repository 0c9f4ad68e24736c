"""Long lists of rows, a page at a time, newest first."""

from collections.abc import Callable
from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse

from hub.hf.address import next_page, whole_number
from hub.hf.views import json_answer

Row = TypeVar("Row", bound=Model)

_PER_PAGE = 100


def page_answer(
    request: HttpRequest, rows: QuerySet[Row], describe: Callable[[Row], Any]
) -> HttpResponse:
    """The next of ``rows``, described, and the address of those after them.

    A page goes on below a key, not after a count: what comes or goes meanwhile neither repeats a
    row nor hides one.

    Raises:
        BadRequest: ``cursor`` is none of ours.
    """
    rows = rows.order_by("-pk")
    below = whole_number(request, "cursor", 0, most=2**63 - 1)
    found = list((rows.filter(pk__lt=below) if below else rows)[: _PER_PAGE + 1])
    shown = found[:_PER_PAGE]
    answer = json_answer([describe(row) for row in shown])
    if len(found) > _PER_PAGE:
        next_page(request, answer, cursor=str(shown[-1].pk))
    return answer
