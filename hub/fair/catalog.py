"""``/catalog``: all that everybody may read, as DCAT 3 and as a page, part by part."""

import math
import re

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from hub.fair.public import JSONLD, PAGE, TURTLE, public, wanted
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
    """A page of the catalogue, in the form that is asked for."""
    number = _number(request.GET.get("page", "1"))
    rows, total = listed(number, AT_ONCE)
    page = _page(number, total)
    described = describe_many(rows)
    form = wanted(request, (PAGE, *_WRITERS))
    if form == PAGE:
        context = {"section": "catalog", "records": described, "page": page, "number": number}
        response = render(request, "fair/catalog.html", context)
    else:
        summaries = [dcat.summary(one) for one in described]
        response = public(request, _WRITERS[form](this_hub(), summaries, page), form)
    response.headers["Link"] = _links(page)
    patch_vary_headers(response, ["Accept"])
    return response


def _number(asked: str) -> int:
    if not _NUMBER.fullmatch(asked):
        raise _no_page(asked)
    return int(asked)


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
    """The other pages, and the forms of this one (RFC 8288)."""
    places = {"first": page.first, "prev": page.previous, "next": page.next, "last": page.last}
    links = [typed("", rel, url) for rel, url in places.items() if url]
    forms = [typed("", "alternate", page.url, form) for form in _WRITERS]
    return header([*links, *forms])


def _no_page(asked: str) -> NotFound:
    return NotFound(
        "page_not_found", f"The catalogue has no page {asked[:20]!r}.", "/catalog is the first."
    )
