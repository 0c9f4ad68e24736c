"""Merging where history was squashed, or where others are at work on the same lines."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.discussion.change import base_of, changes_of, conflicts_of
from registry.selectors.discussion.discussion import discussion_get, events_of
from registry.selectors.repository.revision import branch_get, file_get, history, revision_get
from registry.services.discussion.discussion import discussion_change, pull_request_open
from registry.services.discussion.merge import pull_request_merge
from registry.services.repository.revision import squash
from registry.services.storage.prune import revisions_lost
from registry.states import DiscussionState, EventKind
from registry.tables import Discussion, MLModel, User
from tests.factories import commit_files, make_mlmodel

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def net(alice: User) -> MLModel:
    return make_mlmodel("alice/net", actor=alice, files={"a": "1", "b": "1"})


@pytest.fixture
def pull(net: MLModel, bob: User) -> Discussion:
    """Bob's, of two commits."""
    pull_request_open(actor=bob, mlmodel=net, title="Better")
    commit_files(net, {"a": "2"}, actor=bob, branch="refs/pr/1")
    commit_files(net, {"c": "2"}, actor=bob, branch="refs/pr/1")
    return discussion_get(net, 1)


def at_once(*acts: Callable[[], object]) -> list[str]:
    """The code each act is refused with, "" where it is not."""

    def attempt(act: Callable[[], object]) -> str:
        try:
            act()
        except Conflict as refused:
            return refused.code
        finally:
            connection.close()
        return ""

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(attempt, acts))


def test_a_squashed_branch_still_takes_what_was_proposed_before(
    net: MLModel, pull: Discussion, alice: User
) -> None:
    squash(actor=alice, mlmodel=net, branch="main", message="All")
    commit_files(net, {"b": "2"}, actor=alice)
    assert [change.path for change in changes_of(pull).changes] == ["a", "c"]
    merged = pull_request_merge(actor=alice, pull=pull)
    assert sorted(merged.files.values_list("path", flat=True)) == [".gitattributes", "a", "b", "c"]
    assert file_get(merged, "b").changed_in != merged


def test_what_a_squashed_branch_had_changed_before_is_still_a_conflict(
    net: MLModel, pull: Discussion, alice: User
) -> None:
    commit_files(net, {"a": "3"}, actor=alice)
    squash(actor=alice, mlmodel=net, branch="main", message="All")
    assert conflicts_of(pull) == ["a"]


def test_a_squashed_pull_request_is_one_commit_that_merges_from_where_it_parted(
    net: MLModel, pull: Discussion, alice: User, bob: User
) -> None:
    base, before = base_of(pull)
    changed = [change.path for change in changes_of(pull).changes]
    for number in range(2):
        commit_files(net, {"b": f"{number}"}, actor=alice)
        revision = squash(actor=bob, mlmodel=net, branch="refs/pr/1", message="At once")
        pull = discussion_get(net, 1)
        assert (revision.parent, revision.tree_oid) == (None, before.tree_oid)
        assert history(net, revision).count() == 1
        assert base_of(pull) == (base, revision)
        assert [change.path for change in changes_of(pull).changes] == changed
        assert conflicts_of(pull) == []
    # Not even a later squash of the target, or the loss of all else, changes what it proposes.
    squash(actor=alice, mlmodel=net, branch="main", message="All")
    commit_files(net, {"d": "4"}, actor=bob, branch="refs/pr/1")
    assert base not in set(revisions_lost(before=timezone.now() + timedelta(days=1)))
    merged = pull_request_merge(actor=alice, pull=discussion_get(net, 1))
    assert merged.files.filter(path="d").exists()
    assert file_get(merged, "b").blob.size_bytes == 1


def test_of_two_who_merge_at_once_one_does(net: MLModel, pull: Discussion, alice: User) -> None:
    before = history(net, revision_get(net)).count()
    twice = [lambda: pull_request_merge(actor=alice, pull=discussion_get(net, 1))] * 3
    assert sorted(at_once(*twice)) == ["", "discussion_closed", "discussion_closed"]
    assert history(net, revision_get(net)).count() == before + 1


def test_a_commit_comes_before_a_merge_or_is_refused(
    net: MLModel, pull: Discussion, alice: User, bob: User
) -> None:
    merge, *refused = at_once(
        lambda: pull_request_merge(actor=alice, pull=pull),
        *(lambda n=n: commit_files(net, {f"n{n}": "1"}, actor=bob, branch="refs/pr/1")  # type: ignore[misc]
          for n in range(3)),
    )  # fmt: skip
    assert merge == ""
    assert set(refused) <= {"", "discussion_closed"}
    after = discussion_get(net, 1)
    assert after.merged_as is not None
    line = branch_get(net, "refs/pr/1").revision
    assert after.merged_as.tree_oid == line.tree_oid
    told = [event.kind for event in events_of(after)]
    assert told.count(EventKind.COMMIT) == 2 + refused.count("")
    assert told[-1] == EventKind.STATUS


def test_several_pull_requests_and_commits_at_once_all_arrive(
    net: MLModel, alice: User, bob: User
) -> None:
    for number in range(1, 4):
        pull_request_open(actor=bob, mlmodel=net, title=f"Number {number}")
        files = {f"p{number}": "1"}
        commit_files(net, files, actor=bob, branch=f"refs/pr/{number}")
    acts: list[Callable[[], object]] = [
        lambda n=n: pull_request_merge(actor=alice, pull=discussion_get(net, n))  # type: ignore[misc]
        for n in range(1, 4)
    ]
    acts.append(lambda: commit_files(net, {"mine": "1"}, actor=alice))
    acts.append(lambda: pull_request_open(actor=bob, mlmodel=net, title="Another"))
    assert set(at_once(*acts)) == {""}
    paths = set(revision_get(net).files.values_list("path", flat=True))
    assert {"mine", "p1", "p2", "p3"} <= paths


def test_a_merge_and_a_close_at_once_end_it_once(
    net: MLModel, pull: Discussion, alice: User, bob: User
) -> None:
    codes = at_once(
        lambda: pull_request_merge(actor=alice, pull=discussion_get(net, 1)),
        lambda: discussion_change(actor=bob, discussion=discussion_get(net, 1), state="closed"),
    )
    after = discussion_get(net, 1)
    assert sorted(codes) == ["", "discussion_closed"]
    assert (after.state == DiscussionState.MERGED) == (after.merged_as is not None)
