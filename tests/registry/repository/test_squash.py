"""Branches that forget how they came to be."""

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.repository.revision import files_of, history, revision_get
from registry.services.discussion.discussion import discussion_change, pull_request_open
from registry.services.repository.ref import ref_create
from registry.services.repository.revision import squash
from registry.states import RefKind
from registry.tables import AuditEntry, Job, MLModel, OutboxEntry, Revision, User
from tests.factories import commit_files, make_mlmodel, readme, tiny_onnx


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net`` with a history of three revisions."""
    files = {"README.md": readme(), "model.onnx": tiny_onnx()}
    mlmodel = make_mlmodel("alice/net", actor=alice, files=files)
    commit_files(mlmodel, {"more.txt": b"more"}, actor=alice)
    return mlmodel


def test_a_branch_becomes_one_revision_of_the_same_files(net: MLModel, alice: User) -> None:
    old = revision_get(net)
    jobs, notes = Job.objects.count(), OutboxEntry.objects.count()
    made = squash(actor=alice, mlmodel=net, branch="main", message="All of it")
    assert revision_get(net) == made
    assert (made.parent, made.tree_oid, made.message) == (None, old.tree_oid, "All of it")
    assert made.oid != old.oid
    assert list(history(net, made)) == [made]
    assert {file.changed_in_id for file in files_of(made)} == {made.pk}
    # What is looked up by revision (builds, search) must learn of the new one.
    assert (Job.objects.count(), OutboxEntry.objects.count()) == (jobs + 1, notes + 1)
    assert AuditEntry.objects.filter(action="revision.squash").count() == 1


def test_what_was_stays_for_those_who_know_its_id_and_on_other_branches(
    net: MLModel, alice: User
) -> None:
    old = revision_get(net)
    ref_create(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="kept", revision=old)
    squash(actor=alice, mlmodel=net, branch="main", message="All of it")
    assert revision_get(net, old.oid) == revision_get(net, "kept") == old
    assert Revision.objects.filter(mlmodel=net).count() == 4


def test_commits_go_on_from_there(net: MLModel, alice: User) -> None:
    root = squash(actor=alice, mlmodel=net, branch="main", message="All of it")
    next_ = commit_files(net, {"b.txt": b"b"}, actor=alice, parent_oid=root.oid)
    assert next_.parent == root
    changed = {file.path: file.changed_in_id for file in files_of(next_)}
    assert (changed["b.txt"], changed["more.txt"]) == (next_.pk, root.pk)


def test_a_pull_requests_line_may_be_squashed_by_its_author(
    net: MLModel, alice: User, bob: User
) -> None:
    pull = pull_request_open(actor=bob, mlmodel=net, title="Better")
    commit_files(net, {"x": b"x"}, actor=bob, branch="refs/pr/1")
    made = squash(actor=bob, mlmodel=net, branch="refs/pr/1", message="Better, at once")
    assert revision_get(net, "refs/pr/1") == made
    with pytest.raises(Forbidden):
        squash(actor=bob, mlmodel=net, branch="main", message="Mine")
    discussion_change(actor=alice, discussion=pull, state="closed")
    with pytest.raises(Conflict) as caught:
        squash(actor=bob, mlmodel=net, branch="refs/pr/1", message="Again")
    assert caught.value.code == "discussion_closed"


def test_what_cannot_be_squashed_stays(net: MLModel, alice: User) -> None:
    head = revision_get(net)
    with pytest.raises(NotFound):
        squash(actor=alice, mlmodel=net, branch="gone", message="All of it")
    with pytest.raises(NotFound):
        squash(actor=alice, mlmodel=net, branch=head.oid, message="All of it")
    with pytest.raises(Invalid):
        squash(actor=alice, mlmodel=net, branch="main", message=" ")
    assert revision_get(net) == head
