"""``/catalog``: all public records, as DCAT 3 and as HTML, in pages."""

import math
import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, PAGE, TURTLE, preferred_type, public
from hub.refusals import refusing
from registry.errors import NotFound
from registry.fair.linked import dcat
from registry.fair.signposting import header, typed
from registry.selectors.fair.description import describe_many
from registry.selectors.fair.harvest import listed
from registry.selectors.fair.hub import this_hub

#: Records on one page.
AT_ONCE = 50
_WRITERS = {TURTLE: dcat.render_turtle, JSONLD: dcat.render_jsonld}
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@require_safe
@refusing
def catalog(request: HttpRequest) -> HttpResponse:
    """A page of the catalogue in the requested format."""
    number = _number(request.GET.get("page", "1"))
    rows, total = listed(number, AT_ONCE)
    page = _page(number, total)
    described = describe_many(rows)
    form = preferred_type(request, (PAGE, *_WRITERS))
    if form == PAGE:
        context = {"section": "catalog", "records": described, "page": page, "number": number}
        response = render(request, "fair/catalog.html", context)
    else:
        summaries = [dcat.summary(one) for one in described]
        response = public(request, _WRITERS[form](this_hub(), summaries, page), form)
    response.headers["Link"] = _links(page)
    patch_vary_headers(response, ["Accept"])
    return response


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _no_page(text)
    return int(text)


def _page(number: int, total: int) -> dcat.CatalogPage:
    last = max(1, math.ceil(total / AT_ONCE))
    if number > last:
        raise _no_page(str(number))
    address = f"{this_hub().url}/catalog?page="
    return dcat.CatalogPage(
        url=f"{address}{number}",
        total=total,
        first=f"{address}1",
        last=f"{address}{last}",
        previous=f"{address}{number - 1}" if number > 1 else None,
        next=f"{address}{number + 1}" if number < last else None,
    )


def _links(page: dcat.CatalogPage) -> str:
    """Links to other pages, and to the formats of this one (RFC 8288)."""
    pages = {"first": page.first, "prev": page.previous, "next": page.next, "last": page.last}
    links = [typed("", rel, url) for rel, url in pages.items() if url]
    forms = [typed("", "alternate", page.url, form) for form in _WRITERS]
    return header([*links, *forms])


def _no_page(text: str) -> NotFound:
    return NotFound(
        "page_not_found", f"The catalogue has no page {text[:20]!r}.", "The first page is /catalog."
    )
