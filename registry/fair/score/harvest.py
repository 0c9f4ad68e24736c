"""Harvests: everything that an outside client sees of one record.

A worker fills a :class:`Harvest` over HTTP; :func:`expected` predicts it from a description, so
that a score can be shown before the record is public.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from registry.fair import signposting
from registry.fair.description import Description, ResourceKind
from registry.fair.formats import formats_of
from registry.fair.linked import jsonld
from registry.fair.parts import FileDescription
from registry.fair.score.reading import SOURCES, Reading
from registry.fair.score.served import links_in
from registry.fair.signposting import Link

# Lower bound on the text of a page besides that of the card.
_PAGE_CHARACTERS = 500
#: Roles of files that stay open if the repository is gated.
_OPEN_ROLES = frozenset({"card", "config", "licence"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answers to a request for ``url``. ``statuses`` has redirects first and is empty if no
    answer came; ``final`` and ``media_type`` (without parameters) are of the last answer."""

    url: str
    statuses: tuple[int, ...] = ()
    final: str = ""
    media_type: str = ""

    @property
    def status(self) -> int:
        """Status of the last answer; 0 if none came."""
        return self.statuses[-1] if self.statuses else 0

    @property
    def is_ok(self) -> bool:
        """Whether the last answer is a success (2xx)."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAnswer:
    """The answer for one file.

    ``size_bytes`` is ``Content-Length``; ``sha256`` is ``Repr-Digest`` (RFC 9530) in hex, "" if
    absent; ``received_bytes`` and ``received_sha256`` are of the download, ``None`` and "" after a
    HEAD request; ``is_broken`` is set if a download failed or ended early.
    """

    answer: Answer
    size_bytes: int | None = None
    sha256: str = ""
    received_bytes: int | None = None
    received_sha256: str = ""
    is_broken: bool = False


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """Everything that was fetched of one record.

    Attributes:
        landing: The landing page. After a withdrawal its status is 410.
        text_characters: Length of the page's text without scripts.
        embedded: The JSON-LD in the page, parsed as JSON; ``None`` if there is none.
        links: Links of the page's ``Link`` header.
        header_bytes: Length of that header.
        linkset: Links of the link set that the header names.
        metadata: An answer for each of :attr:`documents`.
        negotiated: Requested media type of the page to the received one.
        pids: An answer for each identifier of the record that is an address.
        policy: Answer of the persistence policy that the record names.
        shape: Answer of the shape that the record names.
        violations: Violations of that shape.
        sources: An answer for each of :attr:`own_sources`.
    """

    kind: ResourceKind
    landing: Answer
    text_characters: int = 0
    embedded: Any = None
    links: tuple[Link, ...] = ()
    header_bytes: int = 0
    linkset: tuple[Link, ...] = ()
    metadata: tuple[Answer, ...] = ()
    negotiated: dict[str, str] = field(default_factory=dict)
    pids: tuple[Answer, ...] = ()
    files: tuple[FileAnswer, ...] = ()
    policy: Answer | None = None
    shape: Answer | None = None
    violations: tuple[str, ...] = ()
    sources: tuple[Answer, ...] = ()

    @cached_property
    def reading(self) -> Reading:
        """The embedded JSON-LD as a graph."""
        return Reading(self.embedded, next(iter(self.targets("cite-as")), ""))

    @property
    def own_sources(self) -> list[str]:
        """Addresses of training data and base models that are on the record's own host."""
        host = "/".join(self.landing.url.split("/")[:3])
        return [url for url in self.reading.urls(*SOURCES) if url.startswith(f"{host}/")]

    @property
    def is_tombstone(self) -> bool:
        """Whether the page answers that the record was withdrawn."""
        return self.landing.status == 410

    @property
    def pages(self) -> set[str]:
        """Addresses of the landing page: the requested one and the one that answered."""
        return {self.landing.url, self.landing.final}

    @property
    def documents(self) -> dict[str, str | None]:
        """Metadata documents of the page, address to declared media type. The header has room for
        some of them; the link set has all."""
        of_page = (link for link in self.linkset if link.anchor in self.pages)
        return {
            link.target: link.type for link in (*self.links, *of_page) if link.rel == "describedby"
        }

    def targets(self, rel: str) -> list[str]:
        """Targets of the header's links with this relation, in their order."""
        return [link.target for link in self.links if link.rel == rel]


def expected(description: Description) -> Harvest:
    """The expected harvest of this description; sources on the same host are assumed to exist."""
    status = 410 if description.status == "withdrawn" else 200
    page = Answer(
        url=description.landing,
        statuses=(status,),
        final=description.landing,
        media_type="text/html",
    )
    header = signposting.header(signposting.of_landing(description))
    formats = formats_of(description.kind)
    pids = [description.pid, *([description.doi] if description.doi else [])]
    harvest = Harvest(
        kind=description.kind,
        landing=page,
        text_characters=_PAGE_CHARACTERS + len(description.body),
        embedded=jsonld.document(description),
        links=tuple(links_in(header, description.landing)),
        header_bytes=len(header),
        linkset=tuple(signposting.links(description)),
        metadata=tuple(
            _ok(signposting.metadata_url(description, one), one.media_type) for one in formats
        ),
        negotiated={one: one for one in signposting.negotiated(description.kind)},
        pids=tuple(_redirected(pid, page) for pid in pids),
        files=tuple(_file(description, file) for file in description.files if file.is_available),
        policy=_ok(description.hub.policy_url, "text/html"),
        shape=_ok(description.hub.shape_url, "text/turtle"),
    )
    return replace(harvest, sources=tuple(_ok(url, "text/html") for url in harvest.own_sources))


def _ok(url: str, media_type: str) -> Answer:
    return Answer(url=url, statuses=(200,), final=url, media_type=media_type)


def _redirected(url: str, page: Answer) -> Answer:
    return Answer(
        url=url, statuses=(302, *page.statuses), final=page.url, media_type=page.media_type
    )


def _file(description: Description, file: FileDescription) -> FileAnswer:
    if description.access != "open access" and file.role not in _OPEN_ROLES:
        return FileAnswer(answer=Answer(url=file.url, statuses=(401,), final=file.url))
    return FileAnswer(
        answer=_ok(file.url, file.media_type),
        size_bytes=file.size_bytes,
        sha256=file.sha256,
        received_bytes=file.size_bytes,
        received_sha256=file.sha256,
    )
