"""What is sent completes what the client has, whatever it has and asks for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hub.git.plan import FetchPlan, FetchRefused, plan
from hub.git.request import INFINITE_DEPTH, Deepen, Fetch
from registry.selectors.repository.git import Commit, GitReferences

Forest = dict[int, Commit]


@st.composite
def forests(draw: st.DrawFn) -> Forest:
    """Up to a dozen commits; each grew from an earlier one or from none."""
    commits: Forest = {}
    for key in range(1, draw(st.integers(1, 12)) + 1):
        parent = draw(st.one_of(st.none(), st.sampled_from(sorted(commits)))) if commits else None
        commits[key] = Commit(key, f"{key:040x}", parent, float(key))
    return commits


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Forest, Fetch]:
    """A history, a client with a (shallow) part of it, and what it asks for."""
    commits = draw(forests())
    some = st.lists(st.sampled_from(sorted(commits)), max_size=3, unique=True)
    tips, ends = draw(some), set(draw(some))
    held = line(commits, tips, ends)
    deepen = draw(
        st.one_of(
            st.builds(Deepen),
            st.builds(Deepen, depth=st.integers(1, 5), relative=st.booleans()),
            st.just(Deepen(depth=INFINITE_DEPTH)),
            st.builds(Deepen, since_s=st.integers(1, 14)),
            st.builds(Deepen, excluded=st.just(["v1"])),
        )
    )
    fetch = Fetch(
        wants=[commits[key].oid for key in draw(some) or [max(commits)]],
        haves=[commits[key].oid for key in tips] + ["f" * 40] * draw(st.integers(0, 1)),
        shallow=[commits[key].oid for key in ends & held if commits[key].parent],
        deepen=deepen,
    )
    return commits, fetch


def line(commits: Forest, starts: list[int], ends: set[int]) -> set[int]:
    found = set()
    for start in starts:
        key: int | None = start
        while key is not None:
            found.add(key)
            key = None if key in ends else commits[key].parent
    return found


def made(commits: Forest, fetch: Fetch) -> FetchPlan:
    named = GitReferences("refs/heads/main", {"refs/tags/v1": commits[1].oid})
    return plan(commits, named, fetch)


@given(scene=scenes())
def test_afterwards_the_client_has_all_it_needs(scene: tuple[Forest, Fetch]) -> None:
    commits, fetch = scene
    try:
        found = made(commits, fetch)
    except FetchRefused:
        assert fetch.deepen.since_s or fetch.deepen.excluded
        return
    keys = {commit.oid: key for key, commit in commits.items()}
    held = line(
        commits, [keys[o] for o in fetch.haves if o in keys], {keys[o] for o in fetch.shallow}
    )
    assert found.present == held
    assert not found.send & held
    ends = {keys[o] for o in [*fetch.shallow, *found.shallow]} - {keys[o] for o in found.unshallow}
    after = held | found.send
    for key in found.send | {keys[o] for o in found.unshallow}:
        assert key in ends or commits[key].parent in {None, *after}
    if not (fetch.deepen.since_s or fetch.deepen.excluded):
        assert {keys[oid] for oid in fetch.wants} <= after


@given(commits=forests(), depth=st.integers(1, 6), data=st.data())
def test_a_depth_counts_from_the_nearest_want(
    commits: Forest, depth: int, data: st.DataObject
) -> None:
    keys = st.lists(st.sampled_from(sorted(commits)), min_size=1, max_size=3)
    wants = data.draw(keys)
    found = made(
        commits, Fetch(wants=[commits[key].oid for key in wants], deepen=Deepen(depth=depth))
    )

    def distance(key: int) -> float:
        below = [line(commits, [want], set()) for want in wants]
        return min(
            (len(steps - line(commits, [key], set())) + 1 for steps in below if key in steps),
            default=math.inf,
        )

    assert found.send == {key for key in commits if distance(key) <= depth}


def test_ready_means_that_every_want_grew_from_what_is_there() -> None:
    commits = {key: Commit(key, f"{key:040x}", key - 1 or None, 0.0) for key in range(1, 5)}
    commits[9] = Commit(9, f"{9:040x}", None, 0.0)
    assert made(commits, Fetch(wants=[commits[4].oid], haves=[commits[2].oid])).ready
    assert not made(commits, Fetch(wants=[commits[4].oid])).ready
    both = [commits[4].oid, commits[9].oid]
    assert not made(commits, Fetch(wants=both, haves=[commits[2].oid])).ready


def test_what_is_unknown_is_refused() -> None:
    commits = {1: Commit(1, "a" * 40, None, 0.0)}
    with pytest.raises(FetchRefused, match="not our ref"):
        made(commits, Fetch(wants=["b" * 40]))
    with pytest.raises(FetchRefused, match="not a ref: v2"):
        made(commits, Fetch(wants=["a" * 40], deepen=Deepen(excluded=["v2"])))
