"""Nobody can take a name that is an address of the hub."""

import re
from collections.abc import Iterator

from django.urls import URLPattern, URLResolver, get_resolver

from registry.ids import NAME_RE, RESERVED_NAMESPACES

_PLAIN = re.compile(r"\^?([A-Za-z0-9._-]+)(?:/|$)")


def _addresses(resolver: URLResolver, lead: str = "") -> Iterator[str]:
    for one in resolver.url_patterns:
        place = lead + str(one.pattern).removeprefix("^").replace("\\", "")
        if isinstance(one, URLPattern):
            yield place
        else:
            yield from _addresses(one, place)


def test_what_addresses_begin_with_names_no_namespace() -> None:
    beginnings = {
        found[1] for one in _addresses(get_resolver()) if (found := _PLAIN.match(one.rstrip("$")))
    }
    assert {"oai", "terms", "robots.txt", "sitemap.xml", "shapes", "models"} <= beginnings
    free = {one for one in beginnings if NAME_RE.fullmatch(one)} - RESERVED_NAMESPACES
    assert not free
