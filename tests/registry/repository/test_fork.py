"""Copies: the same revisions under another name, without a byte moved."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.repository.mlmodel import mlmodel_get, repository_moved
from registry.selectors.repository.revision import files_of, history, revision_get
from registry.services.repository.fork import fork
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move, mlmodel_update
from registry.services.repository.ref import ref_create
from registry.states import JobKind, RefKind, RepositoryKind
from registry.tables import AuditEntry, Blob, File, Job, MLModel, Namespace, Ref, User
from tests.factories import commit_files, make_mlmodel

_OWN = {"id", "uuid", "mlmodel_id", "parent_id", "series_id", "changed_in_id", "assess_at"}


def shared(row: dict[str, object]) -> dict[str, object]:
    """Those columns of a row that a copy has, too."""
    return {column: value for column, value in row.items() if column not in _OWN}


def contents(mlmodel: MLModel) -> dict[str, object]:
    """All that a copy has in common with its source."""
    files = File.objects.filter(series__mlmodel=mlmodel).order_by("path", "series", "first")
    revisions = mlmodel.revisions.order_by("pk")
    return {
        "revisions": [shared(row) for row in revisions.values()],
        "parents": list(revisions.values_list("oid", "parent__oid")),
        "files": [shared(row) for row in files.values()],
        "of": [
            (row.oid, *row.files.order_by("path").values_list("path", "oid", "changed_in__oid"))
            for row in revisions
        ],
        "refs": set(mlmodel.refs.values_list("kind", "name", "revision__oid")),
        "tags": set(mlmodel.tags.values_list("value", flat=True)),
        "labels": list(mlmodel.labels.order_by("pk").values_list("kind", "value")),
        "card": (mlmodel.title, mlmodel.license, mlmodel.task, mlmodel.library),
        "used_bytes": mlmodel.used_bytes,
    }


def test_a_copy_has_the_revisions_files_and_names_of_its_source(
    galaxy: MLModel, charlie: User, bob: User
) -> None:
    first = revision_get(galaxy)
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.TAG, name="v1", revision=first)
    commit_files(galaxy, {"a.txt": b"a", "model.onnx": None}, actor=charlie)
    ref_create(actor=charlie, mlmodel=galaxy, kind=RefKind.BRANCH, name="old", revision=first)
    galaxy.refresh_from_db()
    blobs = Blob.objects.count()

    copy = fork(actor=bob, source=galaxy, namespace="Bob", name="mine")

    assert contents(mlmodel_get(None, "bob/mine")) == contents(galaxy)
    assert Blob.objects.count() == blobs
    assert (copy.created_by, copy.downloads, copy.likes) == (bob, 0, 0)
    head = revision_get(copy)
    assert head.mlmodel == copy
    assert {row.mlmodel for row in history(copy, head)} == {copy}
    assert {file.changed_in.mlmodel for file in files_of(head)} == {copy}


def test_either_goes_on_and_ends_without_the_other(
    galaxy: MLModel, charlie: User, bob: User
) -> None:
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    before = contents(copy)
    commit_files(galaxy, {"theirs.txt": b"t"}, actor=charlie)
    assert contents(copy) == before
    commit_files(copy, {"mine.txt": b"m"}, actor=bob)
    mlmodel_delete(actor=charlie, mlmodel=galaxy)
    paths = [file.path for file in files_of(revision_get(copy))]
    assert paths == [".gitattributes", "README.md", "mine.txt", "model.onnx"]
    mlmodel_delete(actor=bob, mlmodel=copy)
    assert not File.objects.exists()


def test_its_network_is_inspected_and_its_origin_noted(galaxy: MLModel, bob: User) -> None:
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    assert Job.objects.filter(kind=JobKind.INSPECT, revision=revision_get(copy)).count() == 1
    detail = AuditEntry.objects.get(action="mlmodel.fork").detail
    assert detail == {"source": "lab/galaxy-cnn", "source_uuid": str(galaxy.uuid)}


def test_what_is_said_about_the_source_stays_there(galaxy: MLModel, bob: User) -> None:
    Ref.objects.create(mlmodel=galaxy, kind=RefKind.PULL, name="1", revision=revision_get(galaxy))
    copy = fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    assert [ref.kind for ref in copy.refs.all()] == [RefKind.BRANCH]


def test_copying_opens_nothing(secret: MLModel, galaxy: MLModel, charlie: User, bob: User) -> None:
    assert fork(actor=charlie, source=secret, namespace="charlie", name="s").visibility == "private"
    mlmodel_update(actor=charlie, mlmodel=galaxy, gate="manual")
    for actor, refusal in ((bob, Forbidden), (AnonymousUser(), Unauthenticated)):
        with pytest.raises(refusal) as caught:
            fork(actor=actor, source=galaxy, namespace="bob", name="mine")
        assert caught.value.code == "access_gated"
    copy = fork(actor=charlie, source=galaxy, namespace="charlie", name="c", visibility="public")
    assert copy.gate == "manual"


def test_a_copy_needs_a_place_where_its_maker_may_write(galaxy: MLModel, bob: User) -> None:
    for namespace, name, refusal in (
        ("lab", "mine", Forbidden),
        ("alone", "mine", NotFound),
        ("bob", "no/name", Invalid),
        ("bob", "", Invalid),
    ):
        with pytest.raises(refusal):
            fork(actor=bob, source=galaxy, namespace=namespace, name=name)
    with pytest.raises(Invalid):
        fork(actor=bob, source=galaxy, namespace="bob", name="mine", visibility="secret")
    assert MLModel.objects.count() == 1


def test_a_name_in_use_is_refused_and_a_former_one_taken(galaxy: MLModel, bob: User) -> None:
    net = make_mlmodel("bob/net", actor=bob)
    with pytest.raises(Conflict) as caught:
        fork(actor=bob, source=galaxy, namespace="bob", name="Net")
    assert caught.value.code == "model_exists"
    mlmodel_move(actor=bob, mlmodel=net, namespace="bob", name="other")
    fork(actor=bob, source=galaxy, namespace="bob", name="net")
    assert repository_moved(None, RepositoryKind.MODEL, "bob/net") is None
    assert Job.objects.count() == 2


def test_what_does_not_fit_is_neither_copied_nor_received(
    galaxy: MLModel, lab: Namespace, charlie: User, bob: User
) -> None:
    own = Namespace.objects.get(name="bob")
    own.quota_bytes = galaxy.used_bytes - 1
    own.save()
    with pytest.raises(Forbidden) as caught:
        fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    assert caught.value.code == "quota_exceeded"
    with pytest.raises(Forbidden) as caught:
        mlmodel_move(actor=None, mlmodel=galaxy, namespace="bob", name="mine")
    assert caught.value.code == "quota_exceeded"
    own.quota_bytes += 1
    own.save()
    fork(actor=bob, source=galaxy, namespace="bob", name="mine")
    assert MLModel.objects.count() == 2
