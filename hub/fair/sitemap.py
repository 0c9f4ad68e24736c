"""``/sitemap.xml`` (sitemaps.org, protocol 0.9): all public pages.

Without a query it lists the parts; ``?part=`` lists the pages of one, with the times of their
latest changes. Pages stay in their part, so that crawlers need only read changed parts again.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from hub.fair.public import public
from hub.refusals import refusing
from registry.errors import NotFound
from registry.fair.xmltree import element, render
from registry.selectors.fair.hub import this_hub
from registry.selectors.fair.sitemap import addresses_changed, addresses_of
from registry.tables.repository.mlmodel import SITE_MAP_PART

#: Keys of repositories in one part; the protocol allows 50,000 pages.
AT_ONCE = SITE_MAP_PART
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
# The hub's own pages, which are in the first part, without times of change.
_OWN = ("", "/models", "/datasets", "/catalog", "/targets", "/records", "/terms", "/policy")
_PART = re.compile(r"[0-9]{1,9}")


@require_safe
@refusing
def sitemap(request: HttpRequest) -> HttpResponse:
    """The list of parts, or the pages of one part."""
    part = request.GET.get("part")
    root = _index() if part is None else _part(part)
    return public(request, render(root), "application/xml")


def _index() -> Element:
    changed = addresses_changed(AT_ONCE)
    address = f"{this_hub().url}/sitemap.xml"
    parts = [(f"{address}?part={one}", changed.get(one)) for one in sorted({0, *changed})]
    return _list("sitemapindex", "sitemap", parts)


def _part(text: str) -> Element:
    number = int(text) if _PART.fullmatch(text) else -1
    pages: Sequence[tuple[str, datetime | None]] = addresses_of(number, AT_ONCE)
    if number == 0:
        pages = [*((f"{this_hub().url}{one}", None) for one in _OWN), *pages]
    if not pages:
        raise NotFound(
            "page_not_found",
            f"The site map has no part {text[:20]!r}.",
            "/sitemap.xml lists its parts.",
        )
    return _list("urlset", "url", pages)


def _list(tag: str, item: str, pages: Iterable[tuple[str, datetime | None]]) -> Element:
    rows = [
        element(item, [element("loc", url), *([element("lastmod", _time(at))] if at else [])])
        for url, at in pages
    ]
    return element(tag, rows, {"xmlns": _NAMESPACE})


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
