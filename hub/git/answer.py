"""Answers of ``git-upload-pack``, as pieces to stream. See also :mod:`hub.git.request`."""

from collections.abc import Iterator

from dulwich.protocol import (
    SIDE_BAND_CHANNEL_DATA,
    SIDE_BAND_CHANNEL_FATAL,
    SIDE_BAND_CHANNEL_PROGRESS,
    ZERO_SHA,
    format_ack_line,
    format_shallow_line,
    format_unshallow_line,
    pkt_line,
)

from hub.git.pack import Piece, pack
from hub.git.plan import FetchPlan
from hub.git.request import Fetch, ListReferences
from registry.selectors.repository.git import Commit, GitReferences

_AGENT = b"agent=hpcfair"
_FLUSH, _DELIMITER = b"0000", b"0001"
# Payload of one packet line, without its length and channel.
_BAND_BYTES = 65515


def advertisement(references: GitReferences) -> Iterator[bytes]:
    """Protocol 0: all references; the first line has the capabilities."""
    yield pkt_line(b"# service=git-upload-pack\n") + _FLUSH
    capabilities = [
        *(b"multi_ack_detailed", b"no-done", b"side-band-64k", b"no-progress"),
        *(b"shallow", b"deepen-since", b"deepen-not", b"deepen-relative"),
        *(b"allow-tip-sha1-in-want", b"allow-reachable-sha1-in-want"),
        *(b"object-format=sha1", _AGENT),
    ]
    lines = [(name.encode(), oid.encode()) for name, oid in references.names.items()]
    head = references.names.get(references.head)
    if head:
        capabilities.append(b"symref=HEAD:" + references.head.encode())
        lines.insert(0, (b"HEAD", head.encode()))
    first, *rest = lines or [(b"capabilities^{}", bytes(ZERO_SHA))]
    yield pkt_line(first[1] + b" " + first[0] + b"\0" + b" ".join(capabilities) + b"\n")
    for name, oid in rest:
        yield pkt_line(oid + b" " + name + b"\n")
    yield _FLUSH


def advertisement_2() -> Iterator[bytes]:
    """Protocol 2: the capabilities; references are requested separately."""
    capabilities = (b"version 2", _AGENT, b"ls-refs", b"fetch=shallow", b"object-format=sha1")
    for line in capabilities:
        yield pkt_line(line + b"\n")
    yield _FLUSH


def listing(references: GitReferences, request: ListReferences) -> Iterator[bytes]:
    """The references that begin with one of the requested prefixes."""
    head = references.names.get(references.head)
    lines = [(name, oid, "") for name, oid in references.names.items()]
    if head:
        target = f" symref-target:{references.head}" if request.symrefs else ""
        lines.insert(0, ("HEAD", head, target))
    for name, oid, more in lines:
        if not request.prefixes or name.startswith(tuple(request.prefixes)):
            yield pkt_line(f"{oid} {name}{more}\n".encode())
    yield _FLUSH


def answer(commits: dict[int, Commit], fetch: Fetch, plan: FetchPlan) -> Iterator[bytes]:
    """Protocol 0: shallow commits, common commits and, when negotiation is done, the pack."""
    if fetch.deepen:
        yield from _ends(plan)
        yield _FLUSH
    if not fetch.rounds:
        # A client that deepens requests the shallow commits before it sends its haves.
        return
    detailed = "multi_ack_detailed" in fetch.capabilities
    common = [oid.encode() for oid in plan.common]
    for oid in common if detailed else common[:1]:
        yield pkt_line(format_ack_line(oid, b"common" if detailed else b""))
    ready = detailed and plan.ready
    if ready and not fetch.done:
        yield pkt_line(format_ack_line(common[-1], b"ready"))
    if not fetch.done:
        if detailed or not common:
            yield pkt_line(b"NAK\n")
        if not (ready and "no-done" in fetch.capabilities):
            return
    if common and detailed:
        yield pkt_line(format_ack_line(common[-1]))
    elif not common:
        yield pkt_line(b"NAK\n")
    pieces = pack(commits, plan)
    if "side-band-64k" in fetch.capabilities:
        yield from _banded(pieces, progress=fetch.progress)
        yield _FLUSH
    else:
        yield from (piece for piece in pieces if isinstance(piece, bytes))


def answer_2(commits: dict[int, Commit], fetch: Fetch, plan: FetchPlan) -> Iterator[bytes]:
    """Protocol 2: the same, in sections."""
    if fetch.haves and not fetch.done:
        yield pkt_line(b"acknowledgments\n")
        if not plan.common:
            yield pkt_line(b"NAK\n")
        for oid in plan.common:
            yield pkt_line(format_ack_line(oid.encode()))
        if not plan.ready:
            yield _FLUSH
            return
        yield pkt_line(b"ready\n") + _DELIMITER
    if fetch.deepen:
        yield pkt_line(b"shallow-info\n")
        yield from _ends(plan)
        yield _DELIMITER
    yield pkt_line(b"packfile\n")
    yield from _banded(pack(commits, plan), progress=fetch.progress)
    yield _FLUSH


def refusal(text: str) -> bytes:
    """An error line; git shows ``fatal: remote error: <text>``."""
    return pkt_line(f"ERR upload-pack: {text}".encode())


def _ends(plan: FetchPlan) -> Iterator[bytes]:
    for oid in plan.shallow:
        yield pkt_line(format_shallow_line(oid.encode()))
    for oid in plan.unshallow:
        yield pkt_line(format_unshallow_line(oid.encode()))


def _banded(pieces: Iterator[Piece], *, progress: bool) -> Iterator[bytes]:
    for piece in pieces:
        if isinstance(piece, bytes):
            for start in range(0, len(piece), _BAND_BYTES):
                yield _packet(SIDE_BAND_CHANNEL_DATA, piece[start : start + _BAND_BYTES])
        elif piece.fatal:
            yield _packet(SIDE_BAND_CHANNEL_FATAL, piece.text.encode())
        elif progress:
            yield _packet(SIDE_BAND_CHANNEL_PROGRESS, piece.text.encode())


def _packet(channel: int, data: bytes) -> bytes:
    return pkt_line(bytes([channel]) + data)
