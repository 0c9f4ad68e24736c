"""Fetches all documents and files of one record as an outside client, starting at its page. URLs
come from the page, sizes and digests from the received bytes, not from the hub's database."""

import random
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from registry.fair.description import ResourceKind
from registry.fair.score.harvest import Answer, FileAnswer, Harvest
from registry.fair.score.reading import DCT, POLICY, Reading, is_url
from registry.fair.score.served import links_in, linkset_in, page_in, sha256_in
from registry.fair.signposting import LINKSET_TYPE, Link, negotiated
from workers.assessment.conformance import violations
from workers.assessment.visitor import Visit, Visitor

#: ``Accept`` header of browsers.
_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
#: Upper bound on the shapes of a record that are fetched.
_MAX_SHAPES = 4
_TURTLE = "text/turtle"
#: Upper bounds on requested files and on requested documents of each relation.
MOST_FILES = 100
_MOST_LINKS = 50


def harvest(visitor: Visitor, landing: str, kind: ResourceKind, *, most_bytes: int) -> Harvest:
    """Fetch the record with this landing page: at most ``most_bytes`` of files, smallest first."""
    page = visitor.read(landing, _BROWSER)
    content = page_in(page.body.decode(errors="replace"))
    harvested = Harvest(
        kind=kind,
        landing=page.answer,
        text_characters=len(content.text),
        embedded=content.embedded,
        links=tuple(links_in(page.link, page.answer.final)),
        header_bytes=len(page.link),
    )
    if not (page.answer.is_ok or harvested.is_tombstone):
        return harvested
    harvested = replace(harvested, linkset=_linkset(visitor, harvested))
    reading = harvested.reading
    policy = _first(visitor, reading.urls(POLICY))
    identifiers = dict.fromkeys(url for url in reading.identifiers if is_url(url))
    return replace(
        harvested,
        metadata=_answers(visitor, harvested.documents),
        negotiated={want: _type_for(visitor.read(landing, want)) for want in negotiated(kind)},
        # Without the landing page, and without resolvers that may not be contacted.
        pids=_answers(
            visitor,
            (url for url in identifiers if url not in harvested.pages and visitor.may_visit(url)),
        ),
        files=_files(visitor, harvested, most_bytes),
        policy=policy.answer if policy else None,
        **_conformance(visitor, reading),
        sources=_answers(visitor, (url for url in harvested.own_sources if visitor.may_visit(url))),
    )


def _linkset(visitor: Visitor, harvested: Harvest) -> tuple[Link, ...]:
    for url in harvested.targets("linkset")[:1]:
        answer = visitor.read(url, LINKSET_TYPE)
        if answer.answer.status in {200, 410}:
            return tuple(linkset_in(answer.body, url))
    return ()


def _answers(visitor: Visitor, urls: Iterable[str]) -> tuple[Answer, ...]:
    return tuple(visitor.read(url).answer for url in list(urls)[:_MOST_LINKS])


def _type_for(visit: Visit) -> str:
    """Media type of a response; "" for errors, whose type says nothing."""
    return visit.answer.media_type if visit.answer.status in {200, 410} else ""


def _conformance(visitor: Visitor, reading: Reading) -> dict[str, Any]:
    """An answer of the shapes that the record names, one that failed if any, and all violations."""
    named = sorted(url for url in reading.urls(DCT.conformsTo) if visitor.may_visit(url))
    shapes = [visitor.read(url, _TURTLE) for url in named[:_MAX_SHAPES]]
    if not shapes:
        return {}
    served = [one for one in shapes if one.answer.is_ok]
    failed = next((one.answer for one in shapes if not one.answer.is_ok), shapes[-1].answer)
    faults = (fault for one in served for fault in violations(reading, one.body, one.answer.url))
    return {"shape": failed, "violations": tuple(dict.fromkeys(faults))}


def _first(visitor: Visitor, urls: list[str], accept: str = "*/*") -> Visit | None:
    allowed = (url for url in urls if visitor.may_visit(url))
    return next((visitor.read(url, accept) for url in allowed), None)


def _files(visitor: Visitor, harvested: Harvest, most_bytes: int) -> tuple[FileAnswer, ...]:
    heads = [_head(visitor, url) for url in _sampled(_declared_sizes(harvested))]
    left, answers = most_bytes, []
    for head in sorted(heads, key=lambda one: (one.size_bytes or 0, one.answer.url)):
        size = head.size_bytes or 0
        if not head.answer.is_ok or size > left:
            answers.append(head)
            continue
        left -= size
        answers.append(_downloaded(visitor, head))
    return tuple(sorted(answers, key=lambda one: one.answer.url))


def _declared_sizes(harvested: Harvest) -> dict[str, int]:
    """URL of each file in metadata or link set to its declared size; 0 if undeclared."""
    sizes = {claim.url: claim.size_bytes or 0 for claim in harvested.reading.claims}
    # Documents may encode a URL in several ways.
    listed = {unquote(url) for url in sizes}
    # The crate of all files is an item as well, with a profile in the header.
    listed |= {
        unquote(link.target) for link in harvested.links if link.rel == "item" and link.profile
    }
    for link in harvested.linkset:
        is_new = link.rel == "item" and unquote(link.target) not in listed
        if is_new and link.anchor in harvested.pages:
            sizes[link.target] = 0
    return sizes


def _sampled(sizes: dict[str, int]) -> list[str]:
    """The smallest files and a random sample of the others, so that all are checked in time."""
    by_size = sorted(sizes, key=lambda url: (sizes[url], url))
    first = by_size[: MOST_FILES // 2]
    rest = by_size[len(first) :]
    return first + random.sample(rest, min(len(rest), MOST_FILES - len(first)))


def _head(visitor: Visitor, url: str) -> FileAnswer:
    visit = visitor.head(url)
    length = visit.headers.get("Content-Length", "")
    return FileAnswer(
        answer=visit.answer,
        size_bytes=int(length) if length.isascii() and length.isdigit() else None,
        sha256=sha256_in(visit.headers.get("Repr-Digest", "")),
    )


def _downloaded(visitor: Visitor, head: FileAnswer) -> FileAnswer:
    received = visitor.count(head.answer.url, head.size_bytes or 0)
    if received is None:
        return replace(head, is_broken=True)
    return replace(head, received_bytes=received[0], received_sha256=received[1])
