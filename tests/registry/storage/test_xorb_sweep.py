"""What becomes of xorbs: payloads go, and no client counts on what went."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from registry.services.repository.revision import Add, commit
from registry.services.storage.gc import gc
from registry.services.storage.xorb import xorb_sweep, xorbs_shrink
from registry.tables import Blob, MLModel, User, Xorb, XorbUpload
from registry.xet.hashes import spelled
from tests.factories import make_mlmodel
from tests.registry.xorbs import content_of, register, send

_A, _B, _C = (bytes([n]) * 700 for n in range(1, 4))
_DAY = timedelta(days=1)


@pytest.fixture
def ours(alice: User, data_dir: Path) -> MLModel:
    """Alice's repository."""
    return make_mlmodel("alice/m", actor=alice)


def _epoch(mlmodel: MLModel) -> int:
    mlmodel.refresh_from_db()
    return mlmodel.xet_epoch


def _age() -> None:
    Xorb.objects.update(used_at=timezone.now() - 2 * _DAY)


def test_a_payload_goes_when_all_its_chunks_lie_in_files(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A, _B, _C])
    register(alice, ours, [_C, _A], [(xorb, 2, 3), (xorb, 0, 1)])
    assert xorb_sweep(grace=_DAY) == 0
    register(alice, ours, [_B], [(xorb, 1, 2)])
    assert xorb_sweep(grace=_DAY) == 1
    assert Xorb.objects.get().payload is None
    assert _epoch(ours) == 1
    chunks = [_A, _B, _C]
    assert content_of(alice, register(alice, ours, chunks, [(xorb, 0, 3)])) == b"".join(chunks)


def test_a_payload_nobody_used_goes_and_the_address_changes(alice: User, ours: MLModel) -> None:
    other = make_mlmodel("alice/other", actor=alice)
    send(alice, ours, [_A])
    assert xorb_sweep(grace=_DAY) == 0
    _age()
    send(alice, other, [_B])
    assert xorb_sweep(grace=_DAY) == 1
    assert (_epoch(ours), _epoch(other)) == (2, 1)
    assert Xorb.objects.count() == 1


def test_a_payload_that_was_sent_again_stays(alice: User, ours: MLModel) -> None:
    send(alice, ours, [_A])
    _age()
    send(alice, ours, [_A])
    assert xorb_sweep(grace=_DAY) == 0
    assert _epoch(ours) == 1


def test_what_lies_in_a_file_outlives_the_rest_of_its_xorb(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A, _B, _C])
    register(alice, ours, [_B], [(xorb, 1, 2)])
    _age()
    xorb_sweep(grace=_DAY)
    assert _epoch(ours) == 2
    assert not XorbUpload.objects.exists()
    assert content_of(alice, register(alice, ours, [_B, _B], [(xorb, 1, 2)] * 2)) == _B + _B
    # All is said: nothing changes from sweep to sweep.
    xorb_sweep(grace=_DAY)
    assert _epoch(ours) == 2


def test_when_a_file_goes_so_do_its_xorbs_and_the_address_changes(
    alice: User, bob: User, ours: MLModel
) -> None:
    proposals = make_mlmodel("bob/m", actor=bob)
    xorb = send(alice, ours, [_A])
    send(bob, proposals, [_A])
    sha256 = register(alice, ours, [_A], [(xorb, 0, 1)])
    xorb_sweep(grace=_DAY)
    Blob.objects.filter(pk=sha256).delete()
    xorbs_shrink([spelled(xorb)])
    assert (_epoch(ours), _epoch(proposals)) == (2, 2)
    assert not Xorb.objects.exists()
    send(alice, ours, [_A])
    assert content_of(alice, register(alice, ours, [_A], [(xorb, 0, 1)])) == _A


def test_chunks_in_a_condemned_file_count_as_lost(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A])
    sha256 = register(alice, ours, [_A], [(xorb, 0, 1)])
    Blob.objects.filter(pk=sha256).update(condemned_at=timezone.now())
    assert xorb_sweep(grace=_DAY) == 0
    Blob.objects.filter(pk=sha256).update(condemned_at=None)
    assert xorb_sweep(grace=_DAY) == 1
    Blob.objects.filter(pk=sha256).update(used_at=timezone.now() - 2 * _DAY)
    assert gc(grace=_DAY).condemned == 1
    assert _epoch(ours) == 2


def test_garbage_collection_takes_xorbs_along_and_uploads_go_on(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A, _B])
    register(alice, ours, [_A], [(xorb, 0, 1)])
    kept = send(alice, ours, [_C])
    publish = [Add("c.bin", register(alice, ours, [_C], [(kept, 0, 1)]))]
    commit(actor=alice, mlmodel=ours, message="Add", operations=publish, is_checked=False)
    for _ in range(3):
        gc(grace=timedelta(0))
    # What a revision has is still there to take chunks from, everything else is forgotten.
    assert [row.hash for row in Xorb.objects.all()] == [spelled(kept)]
    assert _epoch(ours) > 1
    send(alice, ours, [_A, _B])
    chunks, runs = [_A, _B, _C], [(xorb, 0, 2), (kept, 0, 1)]
    assert content_of(alice, register(alice, ours, chunks, runs)) == b"".join(chunks)
