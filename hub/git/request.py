"""Requests of git clients to ``git-upload-pack``, in protocol 0 (1 is the same) and 2.

::

    0   want <id> <capabilities>, want <id>..., shallow <id>..., deepen <n>, flush,
        have <id>..., flush or done
    2   command=fetch, <capabilities>, delimiter, the same words as arguments, flush
    2   command=ls-refs, <capabilities>, delimiter, peel, symrefs, ref-prefix <prefix>..., flush

Over HTTP each request is complete: there is no state between two of them.

Sources: git's ``Documentation/gitprotocol-{common,pack,v2,http}``; framing is dulwich's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from dulwich.errors import GitProtocolError, HangupException
from dulwich.protocol import Protocol

from registry.ids import OID_RE

#: Depth that means unlimited: ``git fetch --unshallow`` sends it.
INFINITE_DEPTH = 0x7FFFFFFF
# Length of "want <id>"; the first such line continues with the capabilities.
_WANT_LENGTH = len("want ") + 40


Read: TypeAlias = Callable[[int], bytes]


class GitRequestError(Exception):
    """The request violates the protocol; the text is the reason."""


@dataclass
class Deepen:
    """Limits of the requested history; by default there is none.

    Attributes:
        depth: Number of commits of each history.
        relative: Whether ``depth`` counts from the end of the client's history.
        since_s: Time of the oldest commit, in seconds since 1970.
        excluded: References whose commits are excluded.
    """

    depth: int = 0
    relative: bool = False
    since_s: int = 0
    excluded: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.depth or self.since_s or self.excluded)


@dataclass
class Fetch:
    """A request for commits.

    Attributes:
        wants, haves: Ids of the requested commits, and of those that the client has.
        shallow: Ids of commits that the client has without their parents.
        capabilities: Protocol 0: capabilities that the client uses.
        rounds: Protocol 0: whether lines follow the wants.
        done: Whether the client ends the negotiation and waits for the pack.
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
    """A request for references; for all of them if there are no ``prefixes``."""

    symrefs: bool = False
    prefixes: list[str] = field(default_factory=list)


def read_fetch(read: Read) -> Fetch:
    """A request of protocol 0. Raises ``GitRequestError`` if it is malformed."""
    lines = _lines(read)
    fetch = Fetch()
    for line in lines:
        if line is None:
            break
        if line.startswith("want ") and not fetch.wants:
            fetch.capabilities = frozenset(line[_WANT_LENGTH:].split())
            _apply(fetch, line[:_WANT_LENGTH])
        else:
            _apply(fetch, line)
    for line in lines:
        fetch.rounds = True
        if line is not None:
            _apply(fetch, line)
    fetch.progress = "no-progress" not in fetch.capabilities
    fetch.deepen.relative = "deepen-relative" in fetch.capabilities
    return fetch


def read_command(read: Read) -> Fetch | ListReferences:
    """A request of protocol 2. Raises ``GitRequestError`` if malformed or of an unknown command."""
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
                _apply(fetch, line)
            return fetch
        case "ls-refs":
            named = [line.partition(" ") for line in arguments]
            prefixes = [prefix for word, _, prefix in named if word == "ref-prefix"]
            return ListReferences("symrefs" in arguments, prefixes)
    raise GitRequestError(f"The command {command[:100]!r} is not offered.")


def _apply(fetch: Fetch, line: str) -> None:
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
        # Permissions that are not used: deltas and annotated tags.
        case "thin-pack" | "ofs-delta" | "include-tag":
            pass
        case _:
            raise GitRequestError(f"{line[:100]!r} is not understood.")


def _oid(value: str) -> str:
    if not OID_RE.fullmatch(value):
        raise GitRequestError(f"{value[:100]!r} is not a commit id.")
    return value


def _number(value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) <= 18 and int(value) > 0):
        raise GitRequestError(f"{value[:100]!r} is not a number.")
    return int(value)


def _lines(read: Read) -> Iterator[str | None]:
    """The packet lines of the body; ``None`` for a flush or a delimiter."""
    protocol = Protocol(read, lambda _: None)
    while True:
        try:
            line = protocol.read_pkt_line()
            yield line if line is None else line.decode().removesuffix("\n")
        except HangupException:
            return
        except (GitProtocolError, UnicodeDecodeError) as error:
            raise GitRequestError(f"The body is not a list of packet lines: {error}.") from None
