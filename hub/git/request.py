"""What a git client sends to ``git-upload-pack``, in protocol 0 (and 1, which is the same) and 2.

::

    0   want <id> <capabilities>, want <id>..., shallow <id>..., deepen <n>, flush,
        have <id>..., flush or done
    2   command=fetch, <capabilities>, delimiter, the same words as arguments, flush
    2   command=ls-refs, <capabilities>, delimiter, peel, symrefs, ref-prefix <prefix>..., flush

Over HTTP each request is complete in itself: nothing is remembered between two.

Sources: git's ``Documentation/gitprotocol-{common,pack,v2,http}``; framing is dulwich's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from dulwich.errors import GitProtocolError, HangupException
from dulwich.protocol import Protocol

from registry.ids import OID_RE

#: Means "all of it" in ``deepen``: what ``git fetch --unshallow`` sends.
INFINITE_DEPTH = 0x7FFFFFFF
# Of "want <id>"; behind the first of them stand the capabilities.
_WANT_LENGTH = len("want ") + 40


Read: TypeAlias = Callable[[int], bytes]


class BadRequest(Exception):
    """The request is not of the protocol; the text says why."""


@dataclass
class Deepen:
    """How much history is wanted; all of it where nothing is set.

    Attributes:
        depth: So many commits of each line; 0 for no limit.
        relative: ``depth`` counts from where the client's history ends.
        since_s: Only commits made since, in seconds since 1970; 0 for no limit.
        excluded: Names whose commits are not wanted.
    """

    depth: int = 0
    relative: bool = False
    since_s: int = 0
    excluded: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.depth or self.since_s or self.excluded)


@dataclass
class Fetch:
    """Asks for commits.

    Attributes:
        wants: Commits that are asked for.
        haves: Commits the client has.
        shallow: Commits whose parents the client lacks, though it has them.
        deepen: How much history is wanted.
        capabilities: Protocol 0: what of the advertisement the client makes use of.
        rounds: Protocol 0: whether anything follows the wants.
        done: Whether the client has nothing more to say and waits for its pack.
        progress: Whether a person watches.
    """

    wants: list[str] = field(default_factory=list)
    haves: list[str] = field(default_factory=list)
    shallow: list[str] = field(default_factory=list)
    deepen: Deepen = field(default_factory=Deepen)
    capabilities: frozenset[str] = frozenset()
    rounds: bool = False
    done: bool = False
    progress: bool = True


@dataclass
class ListReferences:
    """Asks for names; for all of them if there are no ``prefixes``."""

    symrefs: bool = False
    prefixes: list[str] = field(default_factory=list)


def read_fetch(read: Read) -> Fetch:
    """A request of protocol 0.

    Raises:
        BadRequest: it is malformed.
    """
    lines = _lines(read)
    fetch = Fetch()
    for line in lines:
        if line is None:
            break
        if line.startswith("want ") and not fetch.wants:
            fetch.capabilities = frozenset(line[_WANT_LENGTH:].split())
            _take(fetch, line[:_WANT_LENGTH])
        else:
            _take(fetch, line)
    for line in lines:
        fetch.rounds = True
        if line is not None:
            _take(fetch, line)
    fetch.progress = "no-progress" not in fetch.capabilities
    fetch.deepen.relative = "deepen-relative" in fetch.capabilities
    return fetch


def read_command(read: Read) -> Fetch | ListReferences:
    """A request of protocol 2.

    Raises:
        BadRequest: it is malformed, or its command is not offered.
    """
    lines = _lines(read)
    command = ""
    for line in lines:
        if line is None:
            break
        if line.startswith("command="):
            command = line.removeprefix("command=")
    arguments = [line for line in lines if line is not None]
    match command:
        case "fetch":
            fetch = Fetch(rounds=True)
            for line in arguments:
                _take(fetch, line)
            return fetch
        case "ls-refs":
            named = [line.partition(" ") for line in arguments]
            prefixes = [prefix for word, _, prefix in named if word == "ref-prefix"]
            return ListReferences("symrefs" in arguments, prefixes)
    raise BadRequest(f"The command {command[:100]!r} is not offered.")


def _take(fetch: Fetch, line: str) -> None:
    word, _, value = line.partition(" ")
    match word:
        case "want" | "have" | "shallow":
            named = {"want": fetch.wants, "have": fetch.haves, "shallow": fetch.shallow}
            named[word].append(_oid(value))
        case "done":
            fetch.done = True
        case "no-progress":
            fetch.progress = False
        case "deepen":
            fetch.deepen.depth = _number(value)
        case "deepen-relative":
            fetch.deepen.relative = True
        case "deepen-since":
            fetch.deepen.since_s = _number(value)
        case "deepen-not":
            fetch.deepen.excluded.append(value)
        # They allow us what we do not do: deltas, and tags of their own.
        case "thin-pack" | "ofs-delta" | "include-tag":
            pass
        case _:
            raise BadRequest(f"{line[:100]!r} is not understood.")


def _oid(value: str) -> str:
    if not OID_RE.fullmatch(value):
        raise BadRequest(f"{value[:100]!r} is no commit id.")
    return value


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) > 0):
        raise BadRequest(f"{value[:100]!r} is no number.")
    return int(value)


def _lines(read: Read) -> Iterator[str | None]:
    """The lines up to the end of the body; ``None`` for a flush or a delimiter."""
    protocol = Protocol(read, lambda _: None)
    while True:
        try:
            line = protocol.read_pkt_line()
            yield line if line is None else line.decode().removesuffix("\n")
        except HangupException:
            return
        except (GitProtocolError, UnicodeDecodeError) as error:
            raise BadRequest(f"The body is no list of lines: {error}.") from None
