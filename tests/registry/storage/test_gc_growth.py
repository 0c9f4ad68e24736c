"""Garbage collection of a hub with many objects: bounded runs that see everything in turn."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from registry.selectors.storage.quota import usage
from registry.services.fair.assessment import assess_due
from registry.services.repository.mlmodel import mlmodel_delete, mlmodel_move
from registry.services.repository.ref import ref_create, ref_delete
from registry.services.storage.chunking import blobs_chunk
from registry.services.storage.gc import gc
from registry.services.storage.prune import revisions_lost, revisions_prune
from registry.services.storage.quota import usage_sum
from registry.services.storage.sweep import sweep
from registry.services.storage.xorb import xorb_sweep
from registry.states import RefKind, Role
from registry.tables import Blob, Membership, MLModel, Namespace, Revision, Sweep, User, Xorb
from tests.factories import commit_files, make_mlmodel
from tests.hub.fair.crowd import make_crowd
from tests.plans import assert_reads_few

pytestmark = pytest.mark.django_db

_DAY = timedelta(days=1)
_MANY = 3000


def blobs(count: int) -> list[str]:
    """Unused blobs without bytes, by digest."""
    before = timezone.now() - 9 * _DAY
    rows = [
        Blob(sha256=f"{number:064x}", size_bytes=1, git_oid="0" * 40, used_at=before)
        for number in range(count)
    ]
    return [row.pk for row in Blob.objects.bulk_create(rows)]


def read(keys: Sequence[str]) -> Any:
    return lambda after, count: [key for key in keys if key > after][:count]


def test_rounds_go_on_where_the_last_one_ended(db: None) -> None:
    def round_of(most: int | None, keys: str = "abcdefg") -> list[str]:
        return ["".join(some) for some in sweep("test", read(keys), at_once=2, most=most)]

    assert round_of(3) == ["ab", "c"]
    assert round_of(3) == ["de", "f"]
    assert round_of(3) == ["g", "ab"], "at the end it begins again"
    assert round_of(9) == ["cd", "ef", "g", "ab"], "no key comes twice in a round"
    assert round_of(None) == ["ab", "cd", "ef", "g"]
    assert round_of(3, "") == []


def test_a_batch_that_is_left_is_not_read_again(db: None) -> None:
    for some in sweep("test", read("abcd"), at_once=1, most=4):
        assert list(some) == ["a"]
        break
    assert Sweep.objects.get().position == "a"


def test_bounded_collections_see_everything_in_turn(data_dir: Path) -> None:
    digests = blobs(7)
    condemned = [gc(grace=_DAY, most=3).condemned for _ in range(3)]
    assert condemned == [3, 3, 1]
    Blob.objects.update(condemned_at=timezone.now() - 2 * _DAY)
    assert [gc(grace=_DAY, most=60).blobs for _ in range(2)] == [7, 0]
    assert not Blob.objects.filter(pk__in=digests).exists()


def test_no_step_of_a_collection_walks_a_table(
    data_dir: Path, lab: Namespace, settings: Any
) -> None:
    settings.ASSESS_DAYS = 7
    make_crowd(lab, _MANY)
    Revision.objects.update(assess_at=timezone.now() + _DAY)
    blobs(_MANY)
    Blob.objects.update(used_at=timezone.now())
    now = timezone.now()
    Xorb.objects.bulk_create(
        Xorb(hash=f"{number:064x}", chunks=b"", chunk_count=0, used_at=now)
        for number in range(_MANY)
    )
    assert_reads_few(lambda: revisions_prune(before=now), most=100)
    assert_reads_few(lambda: xorb_sweep(grace=_DAY), most=100)
    assert_reads_few(blobs_chunk, most=100)
    assert_reads_few(lambda: assess_due(limit=50), most=100)
    assert_reads_few(lambda: usage(lab), most=100)
    assert_reads_few(lambda: gc(grace=_DAY, most=200), most=1000)


def test_lost_lines_go_from_their_ends(data_dir: Path, alice: User) -> None:
    net = make_mlmodel("alice/net", files={"a": b"main"})
    main = net.refs.get().revision
    for name in ("one", "two"):
        ref_create(actor=None, mlmodel=net, kind=RefKind.BRANCH, name=name, revision=main)
    shared = commit_files(net, {"b": b"shared"}, branch="one")
    commit_files(net, {"c": b"one"}, branch="one")
    ref_create(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="three", revision=shared)
    commit_files(net, {"d": b"three"}, branch="three")
    ref_delete(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="two")
    soon = timezone.now() + _DAY
    assert not revisions_lost(before=soon)
    assert revisions_prune(before=soon) == 0
    assert not Revision.objects.filter(is_stray=True), "main leads to what the branch led to"
    ref_delete(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="one")
    assert revisions_prune(before=soon) == 1, "the other line still leads to the common part"
    ref_delete(actor=None, mlmodel=net, kind=RefKind.BRANCH, name="three")
    assert revisions_prune(before=soon) == 2
    assert net.revisions.count() == 2


def test_the_bytes_of_a_namespace_follow_its_repositories(
    data_dir: Path, alice: User, lab: Namespace
) -> None:
    Membership.objects.create(namespace=lab, user=alice, role=Role.ADMIN)
    own = Namespace.objects.get(name="alice")

    def used() -> Iterator[int]:
        for namespace in (own, lab):
            assert usage_sum(namespace) == 0
            yield usage(namespace).used_bytes

    net = make_mlmodel("alice/net", actor=alice, files={"a": b"x" * 100})
    size_bytes = MLModel.objects.get(pk=net.pk).used_bytes
    assert list(used()) == [size_bytes, 0]
    mlmodel_move(actor=alice, mlmodel=net, namespace="lab", name="net")
    assert list(used()) == [0, size_bytes]
    mlmodel_delete(actor=alice, mlmodel=net)
    assert list(used()) == [0, 0]
