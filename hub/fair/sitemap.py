"""``/sitemap.xml`` (sitemaps.org, protocol 0.9): every page that everybody may read.

The address alone lists the parts; ``?part=`` has the pages of one, with the time of their latest
change. A part keeps its pages, so that a crawler reads again only those parts that changed.
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
from registry.selectors.fair.harvest import addresses_changed, addresses_of
from registry.selectors.fair.hub import this_hub

#: The protocol allows 50,000.
AT_ONCE = 10_000
_NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
# The hub's own pages stand in the first part. When they last changed, nobody noted.
_OWN = ("", "/models", "/datasets", "/catalog", "/targets", "/records", "/terms", "/policy")
_PART = re.compile(r"[0-9]{1,9}")


@require_safe
@refusing
def sitemap(request: HttpRequest) -> HttpResponse:
    """The parts, or the pages of one."""
    asked = request.GET.get("part")
    root = _index() if asked is None else _part(asked)
    return public(request, render(root), "application/xml")


def _index() -> Element:
    changed = addresses_changed(AT_ONCE)
    address = f"{this_hub().url}/sitemap.xml"
    parts = [(f"{address}?part={one}", changed.get(one)) for one in sorted({0, *changed})]
    return _list("sitemapindex", "sitemap", parts)


def _part(asked: str) -> Element:
    number = int(asked) if _PART.fullmatch(asked) else -1
    pages: Sequence[tuple[str, datetime | None]] = addresses_of(number, AT_ONCE)
    if number == 0:
        pages = [*((f"{this_hub().url}{one}", None) for one in _OWN), *pages]
    if not pages:
        raise NotFound(
            "page_not_found",
            f"The site map has no part {asked[:20]!r}.",
            "/sitemap.xml lists its parts.",
        )
    return _list("urlset", "url", pages)


def _list(tag: str, item: str, places: Iterable[tuple[str, datetime | None]]) -> Element:
    rows = [
        element(item, [element("loc", url), *([element("lastmod", _time(at))] if at else [])])
        for url, at in places
    ]
    return element(tag, rows, {"xmlns": _NAMESPACE})


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds")
