"""``/catalog``: all public records, as DCAT 3 and as HTML, in pages."""

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
from registry.selectors.fair.catalog import MAX_COUNT, listed, listed_count, listed_pages
from registry.selectors.fair.description import describe_many
from registry.selectors.fair.hub import this_hub

#: Keys of records on one page.
AT_ONCE = 50
_WRITERS = {TURTLE: dcat.render_turtle, JSONLD: dcat.render_jsonld}
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@require_safe
@refusing
def catalog(request: HttpRequest) -> HttpResponse:
    """A page of the catalogue in the requested format."""
    text = request.GET.get("page")
    page, number = _page(None if text is None else _number(text))
    rows = listed(number, AT_ONCE)
    described = describe_many(rows)
    form = preferred_type(request, (PAGE, *_WRITERS))
    if form == PAGE:
        context = {"section": "catalog", "records": described, "page": page, "number": number}
        context["most"] = MAX_COUNT
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


def _page(number: int | None) -> tuple[dcat.CatalogPage, int]:
    """A page with its number, by default the first that is not empty."""
    pages = listed_pages(number or 1, AT_ONCE)
    if number is None:
        number = pages.first
        pages = listed_pages(number, AT_ONCE)
    if number > pages.last:
        raise _no_page(str(number))
    page = dcat.CatalogPage(
        url=_address(number),
        total=listed_count(),
        first=_address(pages.first),
        last=_address(pages.last),
        previous=_address(pages.previous) if pages.previous else None,
        next=_address(pages.next) if pages.next else None,
    )
    return page, number


def _address(number: int) -> str:
    return f"{this_hub().url}/catalog?page={number}"


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
