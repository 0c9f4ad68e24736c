import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.access import readable_mlmodels
from registry.selectors.people.account import user_of_token
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import branch_get, files_of, history, revision_get
from registry.services.repository.mlmodel import (
    mlmodel_create,
    mlmodel_delete,
    mlmodel_downloaded,
    mlmodel_update,
)
from registry.services.repository.ref import ref_create
from registry.states import RefKind, Scope, Visibility
from registry.storage import blob_store
from registry.tables import MLModel, Namespace, OutboxEntry, Revision, User
from registry.validation.attributes import DEFAULT
from tests.factories import commit_files, make_mlmodel, make_token, readme
from tests.registry.test_access import full_floor


def test_a_new_model_begins_with_the_patterns_of_large_files(alice: User) -> None:
    mlmodel = mlmodel_create(actor=alice, namespace="alice", name="Net")
    revision = revision_get(mlmodel)
    assert (revision.message, revision.author) == ("initial commit", alice)
    assert list(history(mlmodel, revision)) == [revision]
    (file,) = files_of(revision)
    assert (file.path, file.is_lfs) == (".gitattributes", False)
    with blob_store().open(file.blob_id) as stream:
        assert stream.read() == DEFAULT
    assert mlmodel.created_by == alice


def test_names_keep_their_case_and_compare_without_it(alice: User) -> None:
    make_mlmodel("alice/Net-V2", actor=alice)
    assert mlmodel_get(None, "ALICE/net-v2").full_name == "alice/Net-V2"
    with pytest.raises(Conflict) as caught:
        mlmodel_create(actor=alice, namespace="Alice", name="NET-v2")
    assert caught.value.code == "model_exists"
    assert Revision.objects.count() == 1


@pytest.mark.parametrize("name", ["..", "a/b", "a\0b", "", "é", "x.git", "a b", "a--b"])
def test_a_name_that_would_climb_out_is_refused(alice: User, name: str) -> None:
    with pytest.raises(Invalid) as caught:
        mlmodel_create(actor=alice, namespace="alice", name=name)
    assert caught.value.code == "invalid_name"
    assert not MLModel.objects.exists()


@pytest.mark.parametrize("name", ["alice/none", "alice", "", "/", "alice/a\0b", "a/b/c", "no/no"])
def test_a_model_that_is_not_there_is_not_found(alice: User, name: str) -> None:
    with pytest.raises(NotFound) as caught:
        mlmodel_get(alice, name)
    assert caught.value.code == "model_not_found"


def test_only_writers_of_the_namespace_make_change_and_delete(
    galaxy: MLModel, lab: Namespace, bob: User, charlie: User
) -> None:
    reader = user_of_token(make_token(charlie, Scope.READ))
    for actor in (bob, reader):
        for act in (
            lambda actor=actor: mlmodel_create(actor=actor, namespace="lab", name="x"),
            lambda actor=actor: mlmodel_update(actor=actor, mlmodel=galaxy, visibility="private"),
            lambda actor=actor: mlmodel_delete(actor=actor, mlmodel=galaxy),
        ):
            with pytest.raises(Forbidden):
                act()
    assert mlmodel_get(bob, "lab/galaxy-cnn").visibility == "public"


def test_nobody_makes_a_model_in_a_namespace_that_is_not_there(alice: User) -> None:
    with pytest.raises(NotFound) as caught:
        mlmodel_create(actor=alice, namespace="nobody", name="x")
    assert caught.value.code == "namespace_not_found"


def test_an_anonymous_visitor_is_asked_to_sign_in(lab: Namespace) -> None:
    with pytest.raises(Unauthenticated):
        mlmodel_create(actor=AnonymousUser(), namespace="lab", name="x")


def test_a_model_is_hidden_and_shown_again(galaxy: MLModel, charlie: User, bob: User) -> None:
    before = galaxy.updated_at
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility=Visibility.PRIVATE)
    assert not readable_mlmodels(bob).exists()
    assert galaxy.updated_at > before
    mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="public")
    assert readable_mlmodels(bob).exists()
    with pytest.raises(Invalid):
        mlmodel_update(actor=charlie, mlmodel=galaxy, visibility="secret")


def test_another_default_branch_brings_its_card(galaxy: MLModel, charlie: User) -> None:
    head = revision_get(galaxy)
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.BRANCH, name="next", revision=head)
    card = {"README.md": readme("Better.\n", license="mit", tags=["new"], pipeline_tag="other")}
    commit_files(galaxy, card, actor=charlie, branch="next")
    assert mlmodel_get(None, "lab/galaxy-cnn").license == "Apache-2.0"
    mlmodel_update(actor=charlie, mlmodel=galaxy, default_branch="next")
    shown = mlmodel_get(None, "lab/galaxy-cnn")
    assert (shown.license, shown.description, shown.task) == ("MIT", "Better.", "other")
    assert [tag.value for tag in shown.tags.all()] == ["new"]
    assert revision_get(shown) == branch_get(shown, "next").revision
    with pytest.raises(NotFound):
        mlmodel_update(actor=charlie, mlmodel=galaxy, default_branch="gone")


def test_deleting_takes_all_that_hangs_on_a_model_and_nothing_else(alice: User) -> None:
    made = full_floor("owner/doomed", private=False)
    commit_files(make_mlmodel("alice/kept", actor=alice), {"a.txt": b"a"}, actor=alice)
    doomed = made.revision.mlmodel
    mlmodel_delete(actor=None, mlmodel=doomed)
    assert [mlmodel.full_name for mlmodel in MLModel.objects.all()] == ["alice/kept"]
    assert {revision.mlmodel.name for revision in Revision.objects.all()} == {"kept"}


def test_a_model_with_a_history_can_be_deleted_and_made_again(alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", actor=alice, files={"a.txt": b"a"})
    commit_files(mlmodel, {"a.txt": b"b"}, actor=alice)
    mlmodel_delete(actor=alice, mlmodel=mlmodel)
    assert not Revision.objects.exists()
    assert make_mlmodel("alice/net", actor=alice).revisions.count() == 1


def test_the_search_index_hears_of_every_change(alice: User) -> None:
    def heard() -> int:
        return OutboxEntry.objects.filter(mlmodel_uuid=uuid).count()

    mlmodel = make_mlmodel("alice/net", actor=alice)
    uuid = mlmodel.uuid
    counts = [heard()]
    commit_files(mlmodel, {"a.txt": b"a"}, actor=alice)
    counts.append(heard())
    mlmodel_update(actor=alice, mlmodel=mlmodel, visibility="private")
    counts.append(heard())
    mlmodel_delete(actor=alice, mlmodel=mlmodel)
    counts.append(heard())
    assert counts == [1, 2, 3, 4]


def test_downloads_are_counted(galaxy: MLModel) -> None:
    mlmodel_downloaded(mlmodel=galaxy)
    mlmodel_downloaded(mlmodel=galaxy)
    assert mlmodel_get(None, "lab/galaxy-cnn").downloads == 2
