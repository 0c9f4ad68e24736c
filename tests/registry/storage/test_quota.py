"""What repositories use, and what namespaces may."""

import hashlib
from typing import Any

import pytest

from registry.errors import Forbidden
from registry.selectors.storage.quota import usage
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.storage.lfs import LfsObject, lfs_upload
from registry.services.storage.quota import UNLIMITED, quota_check, quota_set, usage_recount
from registry.tables import MLModel, Namespace, User
from tests.factories import commit_files, make_mlmodel


def used(mlmodel: MLModel) -> int:
    mlmodel.refresh_from_db()
    return mlmodel.used_bytes


@pytest.fixture
def space(alice: User) -> Namespace:
    return Namespace.objects.get(name="alice")


def test_different_bytes_of_all_revisions_count_once(alice: User) -> None:
    mlmodel = make_mlmodel("alice/net")
    start = used(mlmodel)
    assert start > 0, "the first revision's .gitattributes counts"
    commit_files(mlmodel, {"a": b"x" * 100, "b": b"x" * 100, "c": b"y" * 50})
    assert used(mlmodel) == start + 150
    commit_files(mlmodel, {"a": None, "b": None, "d": b"y" * 50, "e": b"z" * 7})
    assert used(mlmodel) == start + 157, "what older revisions hold is still held"
    assert usage_recount(mlmodel) == 0


def test_a_namespace_uses_what_its_repositories_use(
    alice: User, space: Namespace, settings: Any
) -> None:
    settings.QUOTA_BYTES = None
    for name in ("one", "two"):
        commit_files(make_mlmodel(f"alice/{name}"), {"weights": b"w" * 1000})
    each = MLModel.objects.get(name="one").used_bytes
    now = usage(space)
    assert (now.used_bytes, now.quota_bytes, now.free_bytes) == (2 * each, None, None)
    mlmodel_delete(actor=None, mlmodel=MLModel.objects.get(name="one"))
    assert usage(space).used_bytes == each


def test_a_commit_beyond_the_quota_is_refused_with_numbers(alice: User, space: Namespace) -> None:
    mlmodel = make_mlmodel("alice/net")
    room = used(mlmodel) + 1000
    quota_set(actor=None, namespace=space, quota_bytes=room)
    mlmodel = MLModel.objects.select_related("namespace").get(pk=mlmodel.pk)
    commit_files(mlmodel, {"a": b"x" * 600})
    with pytest.raises(Forbidden) as caught:
        commit_files(mlmodel, {"b": b"y" * 401})
    assert caught.value.code == "quota_exceeded"
    for number in (room - 400, room, 401):
        assert str(number) in caught.value.detail
    assert mlmodel.revisions.count() == 2
    commit_files(mlmodel, {"b": b"y" * 400})
    commit_files(mlmodel, {"b": None}, message="Deleting is always possible")
    commit_files(mlmodel, {"c": b"x" * 600}, message="So is using bytes again")
    assert usage(space).free_bytes == 0
    assert usage(space).share == 1.0


def test_the_hubs_default_holds_unless_a_namespace_has_its_own(
    space: Namespace, settings: Any
) -> None:
    settings.QUOTA_BYTES = None
    quota_check(space, 10**15)
    settings.QUOTA_BYTES = 500
    with pytest.raises(Forbidden):
        quota_check(space, 501)
    quota_check(space, 500)
    quota_set(actor=None, namespace=space, quota_bytes=UNLIMITED)
    quota_check(space, 10**15)
    quota_set(actor=None, namespace=space, quota_bytes=1)
    with pytest.raises(Forbidden):
        quota_check(space, 2)
    quota_set(actor=None, namespace=space, quota_bytes=None)
    assert usage(space).quota_bytes == 500


def test_large_files_are_refused_before_they_are_sent(alice: User, space: Namespace) -> None:
    mlmodel = make_mlmodel("alice/net", actor=alice, files={"a": b"x" * 1000})
    quota_set(actor=None, namespace=space, quota_bytes=used(mlmodel) + 500)
    mlmodel = MLModel.objects.select_related("namespace").get(pk=mlmodel.pk)
    here = LfsObject(hashlib.sha256(b"x" * 1000).hexdigest(), 1000)
    lfs_upload(
        actor=alice, mlmodel=mlmodel, objects=[here, LfsObject("1" * 64, 500)], in_parts=True
    )
    with pytest.raises(Forbidden) as caught:
        lfs_upload(actor=alice, mlmodel=mlmodel, objects=[LfsObject("1" * 64, 501)], in_parts=True)
    assert caught.value.code == "quota_exceeded"


def test_only_operators_change_quotas(alice: User, space: Namespace) -> None:
    with pytest.raises(Forbidden):
        quota_set(actor=alice, namespace=space, quota_bytes=UNLIMITED)
    alice.is_staff = True
    quota_set(actor=alice, namespace=space, quota_bytes=UNLIMITED)


def test_a_wrong_count_is_counted_anew(alice: User) -> None:
    mlmodel = make_mlmodel("alice/net", files={"a": b"12345"})
    right = used(mlmodel)
    MLModel.objects.filter(pk=mlmodel.pk).update(used_bytes=1)
    assert usage_recount(mlmodel) == right - 1
    assert used(mlmodel) == right
