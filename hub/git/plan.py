"""Computes which commits a client lacks, and where its shallow history will end.

Pure. A history is a forest of :class:`registry.selectors.repository.git.Commit`: a commit has at
most one parent.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from hub.git.request import INFINITE_DEPTH, Deepen, Fetch
from registry.selectors.repository.git import Commit, GitReferences

_SHORT = ("", "refs/", "refs/tags/", "refs/heads/")


class FetchRefused(Exception):
    """The request cannot be met; git shows the text to its user."""


@dataclass(frozen=True)
class FetchPlan:
    """The answer to a :class:`Fetch`.

    Attributes:
        common: Ids of commits that both sides have, in the order of the request.
        present, send: Keys of the commits that the client has, and of those to send.
        ready: Whether further haves could not make the pack smaller.
        shallow, unshallow: Ids at which its history newly ends, and at which it no longer ends.
    """

    common: list[str] = field(default_factory=list)
    present: frozenset[int] = frozenset()
    send: frozenset[int] = frozenset()
    ready: bool = False
    shallow: list[str] = field(default_factory=list)
    unshallow: list[str] = field(default_factory=list)


def plan(commits: Mapping[int, Commit], references: GitReferences, fetch: Fetch) -> FetchPlan:
    """Plan the answer to a fetch.

    Raises ``FetchRefused`` for an unknown want or excluded name, or if nothing is left to send.
    """
    keys = {commit.oid: key for key, commit in commits.items()}
    unknown = [oid for oid in fetch.wants if oid not in keys]
    if unknown:
        raise FetchRefused(f"not our ref {unknown[0]}")
    wants = [keys[oid] for oid in fetch.wants]
    ends = {keys[oid] for oid in fetch.shallow if oid in keys}
    common = [oid for oid in fetch.haves if oid in keys]
    present = _line(commits, (keys[oid] for oid in common), ends)
    if not fetch.deepen:
        selected = _line(commits, wants, ends)
        return FetchPlan(common, present, selected - present, _ready(commits, wants, present))
    selected = _deepened(commits, references, wants, ends, fetch.deepen)
    new_ends = {key for key in selected if _parent(commits, key) not in {None, *selected}}
    return FetchPlan(
        common,
        present,
        selected - present,
        _ready(commits, wants, present),
        shallow=[commits[key].oid for key in sorted(new_ends - ends)],
        unshallow=[commits[key].oid for key in sorted((ends & selected) - new_ends)],
    )


def _deepened(
    commits: Mapping[int, Commit],
    references: GitReferences,
    wants: Collection[int],
    ends: set[int],
    deepen: Deepen,
) -> frozenset[int]:
    """Ancestors of ``wants`` within the limits, themselves included."""
    if deepen.depth:
        # The depth counts from the client's shallow commits, or from the wants.
        counting = ends if deepen.relative else frozenset(commits)
        return _within(commits, wants, counting, deepen.depth + deepen.relative)
    keys = {commit.oid: key for key, commit in commits.items()}
    excluded = _line(commits, (keys[_oid_of(references, name)] for name in deepen.excluded), ())
    selected = frozenset(
        key
        for key in _line(commits, wants, ())
        if commits[key].made_s >= deepen.since_s and key not in excluded
    )
    if not selected:
        raise FetchRefused("no commits selected for shallow requests")
    return selected


def _within(
    commits: Mapping[int, Commit], wants: Collection[int], counting: Collection[int], depth: int
) -> frozenset[int]:
    """``depth`` commits of each history, counted from the first that is in ``counting``."""
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
    """``starts`` and their ancestors, up to and including ``ends``."""
    ancestors: set[int] = set()
    for start in starts:
        key: int | None = start
        while key is not None and key not in ancestors:
            ancestors.add(key)
            key = None if key in ends else commits[key].parent
    return frozenset(ancestors)


def _ready(commits: Mapping[int, Commit], wants: Collection[int], present: frozenset[int]) -> bool:
    """Whether each wanted commit descends from one that the client has."""
    descendants: set[int | None] = set()
    for key, commit in commits.items():
        if key in present or commit.parent in descendants:
            descendants.add(key)
    return bool(present) and descendants.issuperset(wants)


def _parent(commits: Mapping[int, Commit], key: int) -> int | None:
    return commits[key].parent


def _oid_of(references: GitReferences, name: str) -> str:
    for prefix in _SHORT:
        if prefix + name in references.names:
            return references.names[prefix + name]
    raise FetchRefused(f"deepen-not is not a ref: {name[:200]}")
