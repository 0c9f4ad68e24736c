"""Everything an outside client finds of one record, beginning at its page.

What the hub knows by itself plays no part: addresses are those that the page gives, sizes and
digests those of the bytes that came.
"""

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

#: What browsers say when somebody follows a link.
_BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
_TURTLE = "text/turtle"
#: Files, and documents about the record, that are asked for.
MOST_FILES = 100
_MOST_LINKS = 50


def harvest(visitor: Visitor, landing: str, kind: ResourceKind, *, most_bytes: int) -> Harvest:
    """Look at the record whose page is at ``landing``.

    Args:
        most_bytes: Of files together that are fetched to be counted, the smallest files first.
    """
    page = visitor.read(landing, _BROWSER)
    shown = page_in(page.body.decode(errors="replace"))
    found = Harvest(
        kind=kind,
        landing=page.answer,
        text_characters=len(shown.text),
        embedded=shown.embedded,
        links=tuple(links_in(page.link, page.answer.final)),
        header_bytes=len(page.link),
    )
    if not (page.answer.is_ok or found.is_tombstone):
        return found
    found = replace(found, linkset=_linkset(visitor, found))
    reading = found.reading
    policy = _first(visitor, reading.urls(POLICY))
    described = dict.fromkeys(found.targets("describedby"))
    named = dict.fromkeys(url for url in reading.identifiers if is_url(url))
    return replace(
        found,
        metadata=_asked(visitor, described),
        negotiated={want: _type_for(visitor.read(landing, want)) for want in negotiated(kind)},
        # The page is seen already; what others resolve is for them to answer.
        pids=_asked(
            visitor, (url for url in named if url not in _pages(found) and visitor.may_ask(url))
        ),
        files=_files(visitor, found, most_bytes),
        policy=policy.answer if policy else None,
        **_conformance(visitor, reading),
        sources=_asked(visitor, (url for url in found.own_sources if visitor.may_ask(url))),
    )


def _pages(found: Harvest) -> set[str]:
    return {found.landing.url, found.landing.final}


def _linkset(visitor: Visitor, found: Harvest) -> tuple[Link, ...]:
    for url in found.targets("linkset")[:1]:
        answer = visitor.read(url, LINKSET_TYPE)
        if answer.answer.status in {200, 410}:
            return tuple(linkset_in(answer.body, url))
    return ()


def _asked(visitor: Visitor, urls: Iterable[str]) -> tuple[Answer, ...]:
    return tuple(visitor.read(url).answer for url in list(urls)[:_MOST_LINKS])


def _type_for(visit: Visit) -> str:
    """The type that came; a refusal in whatever type is no answer to what was asked."""
    return visit.answer.media_type if visit.answer.status in {200, 410} else ""


def _conformance(visitor: Visitor, reading: Reading) -> dict[str, Any]:
    """The shape that the record says it conforms to, and whether it does."""
    shape = _first(visitor, reading.urls(DCT.conformsTo), _TURTLE)
    if shape is None:
        return {}
    answer = shape.answer
    found = violations(reading, shape.body, answer.url) if answer.is_ok else ()
    return {"shape": answer, "violations": found}


def _first(visitor: Visitor, urls: list[str], accept: str = "*/*") -> Visit | None:
    asked = (url for url in urls if visitor.may_ask(url))
    return next((visitor.read(url, accept) for url in asked), None)


def _files(visitor: Visitor, found: Harvest, most_bytes: int) -> tuple[FileAnswer, ...]:
    heads = [_head(visitor, url) for url in _chosen(_claimed(found))]
    left, seen = most_bytes, []
    for head in sorted(heads, key=lambda one: (one.size_bytes or 0, one.answer.url)):
        size = head.size_bytes or 0
        if not head.answer.is_ok or size > left:
            seen.append(head)
            continue
        left -= size
        seen.append(_counted(visitor, head))
    return tuple(sorted(seen, key=lambda one: one.answer.url))


def _claimed(found: Harvest) -> dict[str, int]:
    """Address of each file that the metadata or the link set name to the size that is claimed."""
    sizes = {claim.url: claim.size_bytes or 0 for claim in found.reading.claims}
    # Documents may spell one address in several ways.
    named = {unquote(url) for url in sizes}
    # The crate of all files is an item, too: the one whose profile the header tells.
    named |= {unquote(link.target) for link in found.links if link.rel == "item" and link.profile}
    for link in found.linkset:
        is_new = link.rel == "item" and unquote(link.target) not in named
        if is_new and link.anchor in _pages(found):
            sizes[link.target] = 0
    return sizes


def _chosen(sizes: dict[str, int]) -> list[str]:
    """The smallest files, and of many others some by chance: with time all are looked at."""
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


def _counted(visitor: Visitor, head: FileAnswer) -> FileAnswer:
    counted = visitor.count(head.answer.url, head.size_bytes or 0)
    if counted is None:
        return replace(head, is_broken=True)
    return replace(head, received_bytes=counted[0], received_sha256=counted[1])
