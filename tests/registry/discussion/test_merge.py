"""Merging: both sides' work is kept, or nothing happens."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.errors import Conflict, Forbidden, NotFound
from registry.selectors.discussion.change import (
    MAX_DIFF,
    changes_of,
    common_ancestor,
    conflicts_of,
    diff_of,
    three_way,
)
from registry.selectors.discussion.discussion import discussion_get, events_of
from registry.selectors.repository.revision import branch_get, file_get, revision_get
from registry.services.discussion.discussion import (
    discussion_change,
    discussion_open,
    pull_request_open,
)
from registry.services.discussion.merge import pull_request_merge
from registry.services.repository.ref import ref_create, ref_delete
from registry.states import DiscussionState, RefKind
from registry.storage.git import tree_oid
from registry.tables import Discussion, MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel, readme

pytestmark = pytest.mark.django_db

Files = dict[str, str | None]
names = count()


@pytest.fixture
def net(alice: User) -> MLModel:
    return make_mlmodel("alice/net", actor=alice, files={"a": "1\n2\n3\n", "b": "1", "d/c": "1"})


def propose(net: MLModel, author: User, changes: Files, **options: str) -> Discussion:
    """A pull request with one commit."""
    pull = pull_request_open(actor=author, mlmodel=net, title="Better", **options)
    commit_files(net, changes, actor=author, branch=f"refs/pr/{pull.num}")
    return discussion_get(net, pull.num)


def content(revision: Revision) -> dict[str, str]:
    return {file.path: file.oid for file in revision.files.all()}


def test_a_merge_is_one_commit_by_the_merger_on_the_branch(
    net: MLModel, alice: User, bob: User
) -> None:
    pull = propose(net, bob, {"a": None, "new": "2"}, description="It is\n\nsmaller.")
    head = commit_files(net, {"b": "2"}, actor=alice)
    merged = pull_request_merge(actor=alice, pull=pull, comment="Thanks!")

    assert branch_get(net, "main").revision == merged
    assert (merged.parent, merged.author) == (head, alice)
    assert merged.message == "Better (#1)\n\nIt is\n\nsmaller."
    assert set(content(merged)) == {".gitattributes", "b", "d/c", "new"}
    assert file_get(merged, "new").changed_in == merged
    assert file_get(merged, "b").changed_in == head
    after = discussion_get(net, 1)
    assert (after.state, after.merged_as) == (DiscussionState.MERGED, merged)
    assert [(e.kind, e.text) for e in events_of(after)][2:] == [
        ("comment", "Thanks!"),
        ("status-change", "merged"),
    ]
    assert conflicts_of(after) == []
    assert [c.path for c in changes_of(after).changes] == ["a", "new"]


@pytest.mark.parametrize(
    ("ours", "theirs", "conflicts"),
    [
        ({"a": "x"}, {"a": "y"}, ["a"]),
        ({"a": None}, {"a": "y"}, ["a"]),
        ({"a": "x", "b": "x"}, {"a": None, "b": "y"}, ["a", "b"]),
        ({"n": "x"}, {"n": "y"}, ["n"]),
        ({"n": "x"}, {"N": "y"}, ["n"]),
        ({"n": "x"}, {"n/m": "y"}, ["n/m"]),
        ({"d": "x", "d/c": None}, {"d/e": "y"}, ["d/e"]),
    ],
)
def test_what_both_changed_differently_is_a_conflict_and_changes_nothing(
    net: MLModel, alice: User, bob: User, ours: Files, theirs: Files, conflicts: list[str]
) -> None:
    pull = propose(net, bob, theirs)
    head = commit_files(net, ours, actor=alice)

    assert conflicts_of(pull) == conflicts
    with pytest.raises(Conflict) as refused:
        pull_request_merge(actor=alice, pull=pull)
    assert refused.value.code == "merge_conflict"
    assert sorted(refused.value.fields) == conflicts
    assert branch_get(net, "main").revision == head
    assert discussion_get(net, 1).state == DiscussionState.OPEN


def test_what_both_changed_alike_is_no_conflict(net: MLModel, alice: User, bob: User) -> None:
    pull = propose(net, bob, {"a": "x", "b": None, "n": "1", "m": "1"})
    ours = commit_files(net, {"a": "x", "b": None, "n": "1"}, actor=alice)
    merged = pull_request_merge(actor=alice, pull=pull)
    assert file_get(merged, "a").changed_in == ours
    assert set(content(merged)) == {".gitattributes", "a", "d/c", "m", "n"}


def test_a_conflict_is_solved_by_making_both_alike(net: MLModel, alice: User, bob: User) -> None:
    pull = propose(net, bob, {"a": "y", "n": "1"})
    commit_files(net, {"a": "x"}, actor=alice)
    commit_files(net, {"a": "x"}, actor=bob, branch="refs/pr/1")
    pull_request_merge(actor=alice, pull=pull)


def test_only_who_may_write_merges(net: MLModel, bob: User) -> None:
    pull = propose(net, bob, {"a": "2"})
    with pytest.raises(Forbidden):
        pull_request_merge(actor=bob, pull=pull)


def test_what_ended_or_changes_nothing_is_not_merged(net: MLModel, alice: User) -> None:
    def refusal(pull: Discussion) -> str:
        with pytest.raises((Conflict, NotFound)) as refused:
            pull_request_merge(actor=alice, pull=pull)
        return refused.value.code

    merged = propose(net, alice, {"a": "2"})
    pull_request_merge(actor=alice, pull=merged)
    closed = propose(net, alice, {"a": "3"})
    discussion_change(actor=alice, discussion=closed, state="closed")
    talk = discussion_open(actor=alice, mlmodel=net, title="Hello")
    empty = pull_request_open(actor=alice, mlmodel=net, title="Nothing")

    assert refusal(merged) == refusal(closed) == "discussion_closed"
    assert refusal(talk) == "discussion_not_found"
    assert refusal(empty) == "nothing_to_commit"


def test_a_pull_request_may_be_for_another_branch(net: MLModel, alice: User, bob: User) -> None:
    main = revision_get(net)
    ref_create(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="team/dev", revision=main)
    pull = propose(net, bob, {"a": "2"}, branch="team/dev")
    lost = propose(net, bob, {"a": "3"}, branch="team/dev")

    merged = pull_request_merge(actor=alice, pull=pull)
    assert branch_get(net, "team/dev").revision == merged
    assert branch_get(net, "main").revision == main
    ref_delete(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="team/dev")
    with pytest.raises(NotFound):
        pull_request_merge(actor=alice, pull=lost)
    assert conflicts_of(lost) == []
    assert [change.path for change in changes_of(discussion_get(net, 1)).changes] == ["a"]


def test_a_second_merge_counts_from_where_the_line_parted(
    net: MLModel, alice: User, bob: User
) -> None:
    one, other = propose(net, bob, {"a": "2"}), propose(net, bob, {"b": "2"})
    pull_request_merge(actor=alice, pull=one)
    pull_request_merge(actor=alice, pull=other)
    assert common_ancestor(*(branch_get(net, f"refs/pr/{n}").revision for n in (1, 2))) == (
        revision_get(net).parent.parent  # type: ignore[union-attr]
    )
    assert [discussion_get(net, n).state for n in (1, 2)] == [DiscussionState.MERGED] * 2


def test_the_difference_is_told_as_git_does(net: MLModel, bob: User) -> None:
    pull = propose(net, bob, {"a": "1\nzwei\n3\n", "b": None, "n": "1\n", "weights": b"\xff\x00"})  # type: ignore[dict-item]
    lines = diff_of(pull).splitlines()
    assert lines[0] == "diff --git a/a b/a"
    assert lines[2:9] == ["--- a/a", "+++ b/a", "@@ -1,3 +1,3 @@", " 1", "-2", "+zwei", " 3"]
    assert "+++ /dev/null" in lines
    assert "--- /dev/null" in lines
    assert lines[-1] == "Binary files /dev/null and b/weights differ"


def test_a_long_difference_is_cut_between_files(net: MLModel, bob: User) -> None:
    pull = propose(net, bob, {f"f{n}": ("x" * 90 + "\n") * 2000 for n in range(7)})
    text = diff_of(pull)
    assert len(text) <= MAX_DIFF
    assert text.count("diff --git") == 5
    assert len(changes_of(pull).changes) == 7


def test_the_card_is_read_anew_after_a_merge(net: MLModel, alice: User, bob: User) -> None:
    pull = propose(net, bob, {"README.md": readme(pipeline_tag="text-classification")})
    pull_request_merge(actor=alice, pull=pull)
    net.refresh_from_db()
    assert (net.task, net.license) == ("text-classification", "Apache-2.0")


edits = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d/e", "d/f", "g"]), st.none() | st.sampled_from("xyz")
)


@given(edits, edits, edits)
def test_of_three_ways_each_path_takes_the_one_that_changed(
    base: Files, ours: Files, theirs: Files
) -> None:
    def clean(files: Files) -> dict[str, str]:
        return {path: text for path, text in files.items() if text is not None}

    b, o, t = clean(base), clean(ours), clean(theirs)
    merged, swapped = three_way(b, o, t), three_way(b, t, o)
    assert merged.conflicts == swapped.conflicts
    for path in {*b, *o, *t} - set(merged.conflicts):
        sides = {o.get(path), t.get(path)} - {b.get(path)}
        assert merged.entries.get(path) == (sides.pop() if sides else b.get(path))
        assert not sides
        assert swapped.entries.get(path) == merged.entries.get(path)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(edits, edits)
def test_merging_edits_that_do_not_overlap_is_making_them_one_after_the_other(
    alice: User, ours: Files, theirs: Files
) -> None:
    start = {"a": "1", "b": "1", "d/e": "1"}
    ours = {path: text for path, text in ours.items() if text or path in start}
    theirs = {p: text for p, text in theirs.items() if p not in ours and (text or p in start)}
    if not theirs:
        return
    net = make_mlmodel(f"alice/net{next(names)}", actor=alice, files=start)
    pull = propose(net, alice, theirs)
    if ours:
        commit_files(net, ours, actor=alice)
    merged = pull_request_merge(actor=alice, pull=pull)

    line = make_mlmodel(f"alice/line{next(names)}", actor=alice, files=start)
    for step in filter(None, (ours, theirs)):
        commit_files(line, step, actor=alice)
    assert content(merged) == content(revision_get(line))
    assert merged.tree_oid == tree_oid(content(merged))
    assert not merged.files.filter(changed_in__gt=merged.pk).exists()
