"""The API catalogue of a hub (RFC 9727) as a link set."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from registry.fair.parts import Hub
from registry.fair.signposting import api_catalog_url, as_linkset, encoded, typed

#: Profile of link sets that are API catalogues (RFC 9727, section 7.3).
PROFILE = "https://www.rfc-editor.org/info/rfc9727"


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """An API of the hub. ``description`` is address and media type of a machine-readable
    description, such as OpenAPI; ``status`` is the address of the health check."""

    url: str
    description: tuple[str, str] | None = None
    documentation: str | None = None
    status: str | None = None


def document(hub: Hub, apis: Iterable[Api]) -> dict[str, Any]:
    """The APIs of the hub as a link set (RFC 9727, section 4 and appendix A)."""
    catalogue, about = [], []
    for api in apis:
        catalogue.append(typed(api_catalog_url(hub), "item", api.url))
        if api.description is not None:
            about.append(typed(api.url, "service-desc", *api.description))
        if api.documentation is not None:
            about.append(typed(api.url, "service-doc", api.documentation, "text/html"))
        if api.status is not None:
            about.append(typed(api.url, "status", api.status))
    return as_linkset(catalogue + about)


def render(hub: Hub, apis: Iterable[Api]) -> bytes:
    """:func:`document` as bytes of ``application/linkset+json``."""
    return encoded(document(hub, apis))
