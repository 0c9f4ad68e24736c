"""Feeds of changes: Atom (RFC 4287) in pages (RFC 5005, section 3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from xml.etree.ElementTree import Element

from registry.fair.description import Description, ResourceKind
from registry.fair.iris import iri
from registry.fair.parts import METADATA_LICENSE, Agent, Hub
from registry.fair.xmltree import element, render

MEDIA_TYPE = "application/atom+xml"
NAMESPACE = "http://www.w3.org/2005/Atom"

_LABELS = {"model": "Model", "dataset": "Data set"}
_JSONLD = "application/ld+json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """A repository or a version in a feed.

    Attributes:
        pid: Its persistent identifier, as an address.
        page: Its landing page.
        record_url: Its record as JSON-LD.
        updated: Time of its latest change; of a withdrawn one, of the withdrawal.
        authors: Its creators, as far as they are known.
        is_withdrawn: Whether only its record is left.
    """

    pid: str
    title: str
    page: str
    record_url: str
    updated: datetime
    published: datetime
    kind: ResourceKind
    authors: tuple[Agent, ...] = ()
    keywords: tuple[str, ...] = ()
    summary: str | None = None
    is_withdrawn: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedPage:
    """One page of a feed.

    Attributes:
        page: HTML page with the same content.
        url: Address of this page of the feed.
        first: Address of the first page, which is also the identifier of the feed.
        next: Address of the page with the next older entries; ``None`` on the last one.
    """

    title: str
    page: str
    url: str
    first: str
    updated: datetime
    next: str | None = None


def repository_entry(description: Description, updated: datetime, published: datetime) -> FeedEntry:
    """The entry of all versions together, of which ``description`` describes the newest."""
    return _entry(
        description,
        pid=description.concept_pid,
        title=description.title,
        page=description.concept_landing,
        updated=updated,
        published=published,
        summary=description.description,
    )


def version_entry(description: Description, updated: datetime, message: str | None) -> FeedEntry:
    """The entry of one version; ``message`` is that of its commit, if it is still there."""
    return _entry(
        description,
        pid=description.pid,
        title=f"{description.title}, version {description.version}",
        page=description.landing,
        updated=updated,
        published=description.published,
        summary=message,
    )


def feed(hub: Hub, page: FeedPage, entries: Iterable[FeedEntry]) -> bytes:
    """One page of a feed. Its author is the publisher of the hub, who wrote the records; entries
    name the creators of what they describe."""
    links = {"self": page.url, "first": page.first, "next": page.next}
    publisher = [
        element("name", hub.publisher.name),
        element("uri", iri(hub.publisher.ror) or hub.url),
    ]
    return render(
        element(
            "feed",
            [
                element("id", page.first),
                element("title", page.title),
                element("updated", _time(page.updated)),
                element("author", publisher),
                element("rights", "The records are in the public domain: CC0 1.0."),
                _link("license", METADATA_LICENSE),
                _link("alternate", page.page, "text/html"),
                *(_link(rel, url, MEDIA_TYPE) for rel, url in links.items() if url),
                *(_written(one) for one in entries),
            ],
            {"xmlns": NAMESPACE},
        )
    )


def _entry(
    description: Description,
    *,
    pid: str,
    title: str,
    page: str,
    updated: datetime,
    published: datetime,
    summary: str | None,
) -> FeedEntry:
    withdrawal = description.withdrawal
    if withdrawal is not None:
        title = f"{title} (withdrawn)"
        reason = withdrawal.reason or "No reason was given."
        summary = (
            f"Withdrawn on {withdrawal.at.astimezone(UTC).date()}; the record is kept. {reason}"
        )
    return FeedEntry(
        pid=pid,
        title=title,
        page=page,
        record_url=f"{description.concept_landing}/metadata/jsonld?revision={description.oid}",
        updated=updated,
        published=published,
        kind=description.kind,
        authors=description.creators,
        keywords=description.keywords,
        summary=summary,
        is_withdrawn=withdrawal is not None,
    )


def _written(one: FeedEntry) -> Element:
    categories: list[tuple[str, str]] = [(one.kind, _LABELS[one.kind])]
    if one.is_withdrawn:
        categories.append(("withdrawn", "Withdrawn"))
    return element(
        "entry",
        [
            element("id", one.pid),
            element("title", one.title),
            element("published", _time(one.published)),
            element("updated", _time(one.updated)),
            *(_person(author) for author in one.authors),
            _link("alternate", one.page, "text/html"),
            _link("alternate", one.record_url, _JSONLD),
            *([element("summary", one.summary)] if one.summary else []),
            *(
                element("category", (), {"term": term, "label": label})
                for term, label in categories
            ),
            *(element("category", (), {"term": keyword}) for keyword in one.keywords),
        ],
    )


def _person(one: Agent) -> Element:
    address = iri(one.orcid) or iri(one.ror) or iri(one.url)
    return element(
        "author", [element("name", one.name), *([element("uri", address)] if address else [])]
    )


def _link(rel: str, url: str, type_: str | None = None) -> Element:
    return element("link", (), {"rel": rel, "type": type_, "href": url})


def _time(at: datetime) -> str:
    return at.astimezone(UTC).isoformat()
