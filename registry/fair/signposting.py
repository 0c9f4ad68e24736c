"""Typed links between a landing page, its metadata, its files and its authors.

FAIR Signposting profile of 2023-10-02, level 2, over RFC 8288 (web links), RFC 8574 (``cite-as``)
and RFC 9264 (link sets).
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from registry.fair.crate import rocrate
from registry.fair.description import Description, ResourceKind
from registry.fair.formats import Format, formats_of
from registry.fair.iris import iri
from registry.fair.parts import FileDescription, Hub
from registry.fair.serialise import drop_empty

LINKSET_TYPE = "application/linkset+json"
LINKSET_TEXT_TYPE = "application/linkset"

# Proxies reserve 4 KiB for all headers of an answer; assessors request at most 20 items.
_MAX_HEADER_BYTES = 3300
# Upper bounds on links of a relation in the header.
_AT_MOST = {"item": 20, "describedby": 10}
_URI_CHARACTERS = "%/:?#[]@!$&'()*+,;=~"
# Without the characters at which some assessors split a header, even inside addresses.
_HEADER_CHARACTERS = _URI_CHARACTERS.replace(",", "").replace(";", "")
# Also the type of models: schema.org has no class for them, and data set searches list weights.
_THING = "https://schema.org/Dataset"
_PAGE = "https://schema.org/AboutPage"
# Most important relations first; the last are dropped first if the header is full.
_IMPORTANCE = (
    "linkset", "cite-as", "type", "license", "describedby", "author", "api-catalog", "item"
)  # fmt: skip
# Order of links in the header. The canonical JSON-LD is the last link, for consumers that take the
# last. F-UJI 3.5 takes the first of ``linkset`` and ``api-catalog`` for the record's link set.
_ORDER = ("cite-as", "type", "license", "author", "item", "linkset", "api-catalog", "describedby")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One typed link from ``anchor`` to ``target``, with the target's media type and profile."""

    anchor: str
    rel: str
    target: str
    type: str | None = None
    profile: str | None = None


def metadata_url(description: Description, format_: Format) -> str:
    """Address of a version's metadata in one format."""
    return f"{description.concept_landing}/metadata/{format_.name}?revision={description.oid}"


def negotiated(kind: ResourceKind) -> list[str]:
    """Media types besides HTML that a landing page serves by content negotiation."""
    return [*(one.media_type for one in formats_of(kind) if one.is_negotiated), LINKSET_TYPE]


def of_landing(description: Description, *, anchor: str | None = None) -> list[Link]:
    """The links of a version's page. ``anchor`` is its address, by default that of the version; the
    newest version is shown at the address of the model as well."""
    page = anchor or description.landing
    page_links = [
        typed(page, "cite-as", description.pid, "text/html"),
        typed(page, "type", _THING),
        typed(page, "type", _PAGE),
        *(typed(page, "license", uri) for uri in licenses_of(description)),
        *(typed(page, "author", uri) for uri in _authors(description)),
        *_items(description, page),
        typed(page, "api-catalog", api_catalog_url(description.hub), LINKSET_TYPE),
        typed(page, "linkset", description.linkset_url, LINKSET_TYPE),
        *(
            typed(page, "describedby", metadata_url(description, one), one.media_type, one.profile)
            for one in formats_of(description.kind)
        ),
    ]
    return list(dict.fromkeys(page_links))


def of_part(url: str, pages: Iterable[str], linkset_url: str) -> list[Link]:
    """The links of a file or crate: the pages of its version, and the link set of these."""
    return [
        *(typed(url, "collection", page, "text/html") for page in pages),
        typed(url, "linkset", linkset_url, LINKSET_TYPE),
    ]


def of_metadata(description: Description, format_: Format) -> list[Link]:
    """The links of a metadata document: the pages that it describes, and their link set."""
    url = metadata_url(description, format_)
    return [
        *(typed(url, "describes", page, "text/html") for page in description.pages),
        typed(url, "linkset", description.linkset_url, LINKSET_TYPE),
    ]


def links(description: Description) -> list[Link]:
    """Every link of a version: of its pages, its crate, its files and its metadata."""
    every: list[Link] = []
    for page in description.pages:
        every += of_landing(description, anchor=page)
    for url in _item_urls(description):
        every += of_part(url, description.pages, description.linkset_url)
    for one in formats_of(description.kind):
        every += of_metadata(description, one)
    return every


def header(links: Iterable[Link]) -> str:
    """The ``Link`` header (RFC 8288) of one answer: at most 3300 bytes, 20 items and 10 formats;
    the least important links are left out first. The link set has all of them."""
    numbered = list(enumerate(links))
    # The last links of a relation have precedence, so that the canonical description stays; of
    # items the first.
    numbered.sort(key=lambda pair: pair[0] if pair[1].rel == "item" else -pair[0])
    numbered.sort(key=lambda pair: _rank(_IMPORTANCE, pair[1]))
    room, left = _MAX_HEADER_BYTES, dict(_AT_MOST)
    chosen = []
    for number, link in numbered:
        text = _as_header(link)
        if len(text) + 2 > room or left.get(link.rel) == 0:
            continue
        room -= len(text) + 2
        if link.rel in left:
            left[link.rel] -= 1
        chosen.append((_rank(_ORDER, link), number, text))
    return ", ".join(text for _, _, text in sorted(chosen))


def linkset(description: Description) -> dict[str, Any]:
    """All links as a link set in JSON (RFC 9264, section 4.2). Profiles are left out because some
    readers of link sets reject them; the header has them."""
    return as_linkset(links(description))


def render_linkset(description: Description) -> bytes:
    """:func:`linkset` as bytes of ``application/linkset+json``."""
    return encoded(linkset(description))


def render_linkset_text(description: Description) -> bytes:
    """The same links as ``application/linkset`` (RFC 9264, section 4.1)."""
    lines = (f'{_as_header(link)}; anchor="{_bare(link.anchor)}"' for link in links(description))
    return (",\n".join(lines) + "\n").encode()


def typed(
    anchor: str, rel: str, target: str, type_: str | None = None, profile: str | None = None
) -> Link:
    """A link with addresses that are percent-encoded as RFC 3986 requires."""
    return Link(
        anchor=quote(anchor, safe=_URI_CHARACTERS),
        rel=rel,
        target=quote(target, safe=_URI_CHARACTERS),
        type=type_.partition(";")[0].strip() if type_ else None,
        profile=profile,
    )


def as_linkset(links: Iterable[Link]) -> dict[str, Any]:
    """Links as a link set in JSON (RFC 9264, section 4.2)."""
    contexts: dict[str, dict[str, Any]] = {}
    for link in links:
        context = contexts.setdefault(link.anchor, {"anchor": link.anchor})
        context.setdefault(link.rel, []).append(drop_empty(href=link.target, type=link.type))
    return {"linkset": list(contexts.values())}


def encoded(document: dict[str, Any]) -> bytes:
    """A link set as bytes of ``application/linkset+json``."""
    return json.dumps(document, ensure_ascii=False, indent=1).encode() + b"\n"


def api_catalog_url(hub: Hub) -> str:
    """Address of the API catalogue (RFC 9727)."""
    return f"{hub.url}/.well-known/api-catalog"


def licenses_of(description: Description) -> list[str]:
    """Addresses of the licences that are valid links."""
    uris = description.license.uris if description.license else ()
    return [address for uri in uris if (address := iri(uri))]


def _authors(description: Description) -> list[str]:
    uris = (agent.orcid or agent.ror or agent.url for agent in description.creators)
    return [address for uri in uris if (address := iri(uri))]


def _items(description: Description, page: str) -> list[Link]:
    """The crate of all files, the list of all that are not among the following, and each file."""
    items = []
    if description.has_crate:
        zipped = typed(page, "item", description.crate_url, "application/zip", rocrate.PROFILE)
        items.append(zipped)
    if description.files_omitted and not description.is_withdrawn:
        items.append(typed(page, "item", description.file_list_url, "application/json"))
    return items + [typed(page, "item", file.url, file.media_type) for file in _files(description)]


def _item_urls(description: Description) -> list[str]:
    items = [description.crate_url] if description.has_crate else []
    if description.files_omitted and not description.is_withdrawn:
        items.append(description.file_list_url)
    return items + [file.url for file in _files(description)]


def _files(description: Description) -> tuple[FileDescription, ...]:
    """Downloadable files; withdrawn versions have none."""
    return () if description.is_withdrawn else description.files


def _rank(order: tuple[str, ...], link: Link) -> int:
    return order.index(link.rel) if link.rel in order else len(order)


def _as_header(link: Link) -> str:
    attributes = drop_empty(rel=link.rel, type=link.type, profile=link.profile)
    return "; ".join([f"<{_bare(link.target)}>", *(f'{k}="{v}"' for k, v in attributes.items())])


def _bare(url: str) -> str:
    return quote(url, safe=_HEADER_CHARACTERS)
