"""Branches, tags and every way to name a revision."""

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.repository.revision import refs_of, revision_get
from registry.services.repository.ref import ref_create, ref_delete
from registry.states import RefKind
from registry.tables import MLModel, Revision, User
from tests.factories import commit_files, make_mlmodel


@pytest.fixture
def net(alice: User) -> MLModel:
    """``alice/net`` with two revisions."""
    return make_mlmodel("alice/net", actor=alice, files={"a.txt": b"a"})


def name_it(net: MLModel, kind: RefKind, name: str, revision: Revision | None = None) -> None:
    ref_create(
        actor=net.created_by,
        mlmodel=net,
        kind=kind,
        name=name,
        revision=revision or revision_get(net),
    )


def test_a_revision_is_found_by_every_name_it_has(net: MLModel) -> None:
    head = revision_get(net)
    name_it(net, RefKind.TAG, "v1.0", head)
    name_it(net, RefKind.BRANCH, "feature/x", head)
    for rev in (
        *(None, "main", "v1.0", "feature/x", "refs/heads/main", "refs/tags/v1.0"),
        *(head.oid, head.oid[:7], head.oid[:12].upper()),
    ):
        assert revision_get(net, rev) == head
    assert [(ref.kind, ref.name) for ref in refs_of(net)] == [
        ("branch", "feature/x"),
        ("branch", "main"),
        ("tag", "v1.0"),
    ]


def test_a_branch_moves_and_a_tag_stays(net: MLModel, alice: User) -> None:
    old = revision_get(net)
    name_it(net, RefKind.TAG, "v1")
    new = commit_files(net, {"b": b"b"}, actor=alice)
    assert revision_get(net, "v1") == old
    assert revision_get(net, "main") == new


def test_a_branch_goes_before_a_tag_of_its_name(net: MLModel, alice: User) -> None:
    old = revision_get(net)
    name_it(net, RefKind.TAG, "main", old)
    new = commit_files(net, {"b": b"b"}, actor=alice)
    assert revision_get(net, "main") == new
    assert revision_get(net, "refs/tags/main") == old


@pytest.mark.parametrize(
    "rev", ["gone", "0" * 40, "0" * 7, "v\0", "main ", "MAIN", "%", "refs/tags/main", "é"]
)
def test_a_name_that_is_not_there_is_not_found(net: MLModel, rev: str) -> None:
    with pytest.raises(NotFound) as caught:
        revision_get(net, rev)
    assert caught.value.code == "revision_not_found"


def test_too_short_or_ambiguous_ids_name_nothing(net: MLModel) -> None:
    head = revision_get(net)
    with pytest.raises(NotFound):
        revision_get(net, head.oid[:6])
    twin = head.oid[:10] + ("f" if head.oid[10] != "f" else "e") * 30
    Revision.objects.filter(mlmodel=net, parent=None).update(oid=twin)
    with pytest.raises(NotFound):
        revision_get(net, head.oid[:8])
    assert revision_get(net, head.oid) == head
    assert revision_get(net, twin[:12]).oid == twin


def test_revisions_of_another_model_are_out_of_reach(net: MLModel, galaxy: MLModel) -> None:
    foreign = revision_get(galaxy)
    with pytest.raises(NotFound):
        revision_get(net, foreign.oid)
    with pytest.raises(NotFound):
        name_it(net, RefKind.TAG, "v1", foreign)


@pytest.mark.parametrize("kind", list(RefKind))
def test_a_name_is_given_once_of_a_kind(net: MLModel, kind: RefKind) -> None:
    name_it(net, kind, "a/b")
    for name in ("a/b", "a", "a/b/c"):
        with pytest.raises(Conflict) as caught:
            name_it(net, kind, name)
        assert caught.value.code == "ref_exists"
    name_it(net, kind, "a/c")


def test_a_bad_name_is_refused(net: MLModel) -> None:
    with pytest.raises(Invalid) as caught:
        name_it(net, RefKind.TAG, "../v1")
    assert caught.value.code == "invalid_ref"


def test_a_name_is_taken_away_and_its_revisions_stay(net: MLModel, alice: User) -> None:
    name_it(net, RefKind.BRANCH, "next")
    made = commit_files(net, {"b": b"b"}, actor=alice, branch="next")
    ref_delete(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="next")
    with pytest.raises(NotFound):
        revision_get(net, "next")
    assert revision_get(net, made.oid) == made
    for name in ("next", "a\0b"):
        with pytest.raises(NotFound):
            ref_delete(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name=name)


def test_the_default_branch_stays(net: MLModel, alice: User) -> None:
    with pytest.raises(Forbidden, match="default branch"):
        ref_delete(actor=alice, mlmodel=net, kind=RefKind.BRANCH, name="main")


def test_only_writers_give_and_take_names(net: MLModel, bob: User) -> None:
    head = revision_get(net)
    with pytest.raises(Forbidden):
        ref_create(actor=bob, mlmodel=net, kind=RefKind.TAG, name="v1", revision=head)
    with pytest.raises(Forbidden):
        ref_delete(actor=bob, mlmodel=net, kind=RefKind.TAG, name="v1")
