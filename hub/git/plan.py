"""Which commits a client lacks, and where its history will end.

Pure: a history is a forest of :class:`registry.selectors.repository.git.Commit`, so every walk
follows single parents.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hub.git.request import INFINITE_DEPTH, Deepen, Fetch
from registry.selectors.repository.git import Commit, GitReferences

_SHORT = ("", "refs/", "refs/tags/", "refs/heads/")


class Refused(Exception):
    """What is asked for cannot be given; git shows the text to its user."""


@dataclass(frozen=True)
class Plan:
    """The answer to a :class:`Fetch`.

    Attributes:
        common: Ids the client has and we know, in the order they were named.
        known: Keys of all commits the client has.
        send: Keys of the commits it lacks.
        ready: Whether more of what it has would not make the pack smaller.
        shallow: Ids at which its history will end, and did not before.
        unshallow: Ids at which it ended, and will no more.
    """

    common: list[str] = field(default_factory=list)
    known: frozenset[int] = frozenset()
    send: frozenset[int] = frozenset()
    ready: bool = False
    shallow: list[str] = field(default_factory=list)
    unshallow: list[str] = field(default_factory=list)


def plan(commits: Mapping[int, Commit], named: GitReferences, fetch: Fetch) -> Plan:
    """Work out what to send.

    Raises:
        Refused: a wanted commit or an excluded name is unknown, or nothing is left to send.
    """
    keys = {commit.oid: key for key, commit in commits.items()}
    unknown = [oid for oid in fetch.wants if oid not in keys]
    if unknown:
        raise Refused(f"not our ref {unknown[0]}")
    wants = [keys[oid] for oid in fetch.wants]
    ends = {keys[oid] for oid in fetch.shallow if oid in keys}
    common = [oid for oid in fetch.haves if oid in keys]
    known = _line(commits, (keys[oid] for oid in common), ends)
    if not fetch.deepen:
        wanted = _line(commits, wants, ends)
        return Plan(common, known, wanted - known, _ready(commits, wants, known))
    wanted = _deepened(commits, named, wants, ends, fetch.deepen)
    new_ends = {key for key in wanted if _parent(commits, key) not in {None, *wanted}}
    return Plan(
        common,
        known,
        wanted - known,
        _ready(commits, wants, known),
        shallow=[commits[key].oid for key in sorted(new_ends - ends)],
        unshallow=[commits[key].oid for key in sorted((ends & wanted) - new_ends)],
    )


def _deepened(
    commits: Mapping[int, Commit],
    named: GitReferences,
    wants: Collection[int],
    ends: set[int],
    deepen: Deepen,
) -> frozenset[int]:
    """What ``wants`` lead to within the limits."""
    if deepen.depth:
        # Counted from the client's ends, or from the wants.
        counting = ends if deepen.relative else frozenset(commits)
        return _within(commits, wants, counting, deepen.depth + deepen.relative)
    keys = {commit.oid: key for key, commit in commits.items()}
    excluded = _line(commits, (keys[_named(named, name)] for name in deepen.excluded), ())
    wanted = frozenset(
        key
        for key in _line(commits, wants, ())
        if commits[key].made_s >= deepen.since_s and key not in excluded
    )
    if not wanted:
        raise Refused("no commits selected for shallow requests")
    return wanted


def _within(
    commits: Mapping[int, Commit], wants: Collection[int], counting: Collection[int], depth: int
) -> frozenset[int]:
    """``depth`` commits of each line, counted from the first that is in ``counting``."""
    depths: dict[int, int] = {}
    for want in wants:
        key: int | None = want
        here = 0
        while key is not None:
            if here or key in counting:
                here += 1
            if (here > depth and depth < INFINITE_DEPTH) or depths.get(key, here + 1) <= here:
                break
            depths[key] = here
            key = commits[key].parent
    return frozenset(depths)


def _line(
    commits: Mapping[int, Commit], starts: Iterable[int], ends: Collection[int]
) -> frozenset[int]:
    """``starts`` and all they grew from, up to and with ``ends``."""
    found: set[int] = set()
    for start in starts:
        key: int | None = start
        while key is not None and key not in found:
            found.add(key)
            key = None if key in ends else commits[key].parent
    return frozenset(found)


def _ready(commits: Mapping[int, Commit], wants: Collection[int], known: frozenset[int]) -> bool:
    """Whether each wanted commit grew from one that the client has."""
    grown: set[int | None] = set()
    for key, commit in commits.items():
        if key in known or commit.parent in grown:
            grown.add(key)
    return bool(known) and grown.issuperset(wants)


def _parent(commits: Mapping[int, Commit], key: int) -> int | None:
    return commits[key].parent


def _named(named: GitReferences, name: str) -> str:
    for prefix in _SHORT:
        if prefix + name in named.names:
            return named.names[prefix + name]
    raise Refused(f"deepen-not is not a ref: {name[:200]}")
