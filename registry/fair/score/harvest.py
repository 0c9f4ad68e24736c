"""What an outside client sees of one record: plain data, whoever fetched it.

A worker fills a :class:`Harvest` over HTTP and believes nothing it was not served; :func:`expected`
says what it will find for a description, so that a score can be shown before anything is public.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from registry.fair import signposting
from registry.fair.description import Description, ResourceKind
from registry.fair.formats import formats_of
from registry.fair.linked import jsonld
from registry.fair.parts import FileDescription
from registry.fair.score.assessed import SOURCES
from registry.fair.score.reading import Reading
from registry.fair.score.served import links_in
from registry.fair.signposting import Link

# Every page of the hub says at least so much beside what its card says.
_PAGE_CHARACTERS = 500
#: Files that stay open when the others are to be asked for.
_OPEN_ROLES = frozenset({"card", "config", "licence"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """How one address answered.

    Attributes:
        url: As asked.
        statuses: Of each answer, redirects first; none came if empty.
        final: Address of the last answer.
        media_type: Of the last answer, without parameters.
    """

    url: str
    statuses: tuple[int, ...] = ()
    final: str = ""
    media_type: str = ""

    @property
    def status(self) -> int:
        """Of the last answer; 0 if none came."""
        return self.statuses[-1] if self.statuses else 0

    @property
    def is_found(self) -> bool:
        """Whether it led to something."""
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSeen:
    """One file, as its address answered.

    Attributes:
        size_bytes: ``Content-Length``.
        sha256: Of ``Repr-Digest`` (RFC 9530), in hex; "" if it was not sent.
        counted_bytes: How many bytes came; ``None`` if only the head was asked for.
        counted_sha256: Digest of those bytes.
        is_broken: Whether the bytes were asked for and did not come, or broke off.
    """

    answer: Answer
    size_bytes: int | None = None
    sha256: str = ""
    counted_bytes: int | None = None
    counted_sha256: str = ""
    is_broken: bool = False


@dataclass(frozen=True, kw_only=True)
class Harvest:
    """Everything seen of one record.

    Attributes:
        landing: The page. After a withdrawal its status is 410.
        text_characters: Length of the page's text, run without scripts.
        embedded: The JSON-LD in the page, parsed as JSON; ``None`` if there is none.
        links: Of the page's ``Link`` header.
        header_bytes: Length of that header.
        linkset: All links of the link set that the header leads to.
        metadata: An answer for each ``describedby``.
        negotiated: Media type asked for at the page to the one that came.
        pids: An answer for each identifier of the record that is an address.
        policy: Of the persistence policy that the record names.
        shape: Of the shape that the record says it conforms to.
        violations: What that shape finds wrong in the record.
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
    files: tuple[FileSeen, ...] = ()
    policy: Answer | None = None
    shape: Answer | None = None
    violations: tuple[str, ...] = ()
    sources: tuple[Answer, ...] = ()

    @cached_property
    def reading(self) -> Reading:
        """What the embedded JSON-LD says."""
        return Reading(self.embedded, next(iter(self.targets("cite-as")), ""))

    @property
    def own_sources(self) -> list[str]:
        """Addresses of training data and base models that are on the record's own host."""
        host = "/".join(self.landing.url.split("/")[:3])
        return [url for url in self.reading.urls(*SOURCES) if url.startswith(f"{host}/")]

    @property
    def is_tombstone(self) -> bool:
        """Whether the page says that the record was withdrawn."""
        return self.landing.status == 410

    def targets(self, rel: str) -> list[str]:
        """Targets of the header's links of one relation, in their order."""
        return [link.target for link in self.links if link.rel == rel]


def expected(description: Description) -> Harvest:
    """What there will be to see once the hub serves this description.

    Sources on the same host are taken to be there; who can look them up says which are.
    """
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
    found = Harvest(
        kind=description.kind,
        landing=page,
        text_characters=_PAGE_CHARACTERS + len(description.body),
        embedded=jsonld.document(description),
        links=tuple(links_in(header, description.landing)),
        header_bytes=len(header),
        linkset=tuple(signposting.links(description)),
        metadata=tuple(
            _found(signposting.metadata_url(description, one), one.media_type) for one in formats
        ),
        negotiated={one: one for one in signposting.negotiated(description.kind)},
        pids=tuple(_redirected(pid, page) for pid in pids),
        files=tuple(_file(description, file) for file in description.files),
        policy=_found(description.hub.policy_url, "text/html"),
        shape=_found(description.hub.shape_url, "text/turtle"),
    )
    return replace(found, sources=tuple(_found(url, "text/html") for url in found.own_sources))


def _found(url: str, media_type: str) -> Answer:
    return Answer(url=url, statuses=(200,), final=url, media_type=media_type)


def _redirected(url: str, page: Answer) -> Answer:
    return Answer(
        url=url, statuses=(302, *page.statuses), final=page.url, media_type=page.media_type
    )


def _file(description: Description, file: FileDescription) -> FileSeen:
    if description.status == "withdrawn":
        return FileSeen(answer=Answer(url=file.url, statuses=(410,), final=file.url))
    if description.access != "open access" and file.role not in _OPEN_ROLES:
        return FileSeen(answer=Answer(url=file.url, statuses=(401,), final=file.url))
    return FileSeen(
        answer=_found(file.url, file.media_type),
        size_bytes=file.size_bytes,
        sha256=file.sha256,
        counted_bytes=file.size_bytes,
        counted_sha256=file.sha256,
    )
