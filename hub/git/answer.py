"""What ``git-upload-pack`` answers, as pieces to stream. See :mod:`hub.git.request`."""

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
from hub.git.plan import Plan
from hub.git.request import Fetch, ListReferences
from registry.selectors.repository.git import Commit, GitReferences

_AGENT = b"agent=hpcfair"
_FLUSH, _DELIMITER = b"0000", b"0001"
# What fits into one line beside its length and its channel.
_BAND_BYTES = 65515


def advertisement(named: GitReferences) -> Iterator[bytes]:
    """Protocol 0: all names, the first with what we can do."""
    yield pkt_line(b"# service=git-upload-pack\n") + _FLUSH
    capabilities = [
        *(b"multi_ack_detailed", b"no-done", b"side-band-64k", b"no-progress"),
        *(b"shallow", b"deepen-since", b"deepen-not", b"deepen-relative"),
        *(b"allow-tip-sha1-in-want", b"allow-reachable-sha1-in-want"),
        *(b"object-format=sha1", _AGENT),
    ]
    lines = [(name.encode(), oid.encode()) for name, oid in named.names.items()]
    head = named.names.get(named.head)
    if head:
        capabilities.append(b"symref=HEAD:" + named.head.encode())
        lines.insert(0, (b"HEAD", head.encode()))
    first, *rest = lines or [(b"capabilities^{}", bytes(ZERO_SHA))]
    yield pkt_line(first[1] + b" " + first[0] + b"\0" + b" ".join(capabilities) + b"\n")
    for name, oid in rest:
        yield pkt_line(oid + b" " + name + b"\n")
    yield _FLUSH


def advertisement_2() -> Iterator[bytes]:
    """Protocol 2: what we can do; names are asked for."""
    offered = (b"version 2", _AGENT, b"ls-refs", b"fetch=shallow", b"object-format=sha1")
    for line in offered:
        yield pkt_line(line + b"\n")
    yield _FLUSH


def listing(named: GitReferences, asked: ListReferences) -> Iterator[bytes]:
    """The names that begin with one of the prefixes asked for."""
    head = named.names.get(named.head)
    lines = [(name, oid, "") for name, oid in named.names.items()]
    if head:
        target = f" symref-target:{named.head}" if asked.symrefs else ""
        lines.insert(0, ("HEAD", head, target))
    for name, oid, more in lines:
        if not asked.prefixes or name.startswith(tuple(asked.prefixes)):
            yield pkt_line(f"{oid} {name}{more}\n".encode())
    yield _FLUSH


def answer(commits: dict[int, Commit], fetch: Fetch, found: Plan) -> Iterator[bytes]:
    """Protocol 0: where the history ends, what we have in common, and, in the end, the pack."""
    if fetch.deepen:
        yield from _ends(found)
        yield _FLUSH
    if not fetch.rounds:
        # A client that deepens asks where its history will end before it says what it has.
        return
    detailed = "multi_ack_detailed" in fetch.capabilities
    common = [oid.encode() for oid in found.common]
    for oid in common if detailed else common[:1]:
        yield pkt_line(format_ack_line(oid, b"common" if detailed else b""))
    ready = detailed and found.ready
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
    pieces = pack(commits, found)
    if "side-band-64k" in fetch.capabilities:
        yield from _banded(pieces, progress=fetch.progress)
        yield _FLUSH
    else:
        yield from (piece for piece in pieces if isinstance(piece, bytes))


def answer_2(commits: dict[int, Commit], fetch: Fetch, found: Plan) -> Iterator[bytes]:
    """Protocol 2: the same in sections."""
    if fetch.haves and not fetch.done:
        yield pkt_line(b"acknowledgments\n")
        if not found.common:
            yield pkt_line(b"NAK\n")
        for oid in found.common:
            yield pkt_line(format_ack_line(oid.encode()))
        if not found.ready:
            yield _FLUSH
            return
        yield pkt_line(b"ready\n") + _DELIMITER
    if fetch.deepen:
        yield pkt_line(b"shallow-info\n")
        yield from _ends(found)
        yield _DELIMITER
    yield pkt_line(b"packfile\n")
    yield from _banded(pack(commits, found), progress=fetch.progress)
    yield _FLUSH


def refusal(text: str) -> bytes:
    """What git shows as ``fatal: remote error: <text>``."""
    return pkt_line(f"ERR upload-pack: {text}".encode())


def _ends(found: Plan) -> Iterator[bytes]:
    for oid in found.shallow:
        yield pkt_line(format_shallow_line(oid.encode()))
    for oid in found.unshallow:
        yield pkt_line(format_unshallow_line(oid.encode()))


def _banded(pieces: Iterator[Piece], *, progress: bool) -> Iterator[bytes]:
    """The pack on its channel, what people may read on theirs."""
    for piece in pieces:
        if isinstance(piece, bytes):
            for start in range(0, len(piece), _BAND_BYTES):
                yield _on(SIDE_BAND_CHANNEL_DATA, piece[start : start + _BAND_BYTES])
        elif piece.fatal:
            yield _on(SIDE_BAND_CHANNEL_FATAL, piece.text.encode())
        elif progress:
            yield _on(SIDE_BAND_CHANNEL_PROGRESS, piece.text.encode())


def _on(channel: int, data: bytes) -> bytes:
    return pkt_line(bytes([channel]) + data)
