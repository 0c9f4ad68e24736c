"""Files out of chunks: right or refused, and out of nothing that is somebody else's."""

import io
import threading
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from registry.errors import Forbidden, Invalid, NotFound, RegistryError, TooLarge
from registry.selectors.storage.blob import blobs_usable
from registry.services.repository.revision import Add, commit
from registry.services.storage.shard import shard_register
from registry.storage import blob_store
from registry.tables import Blob, MLModel, User, XetFile, XorbRun
from registry.xet.hashes import spelled
from tests.factories import make_mlmodel, make_user
from tests.registry.xet.packer import AS_IS, PLANES, file_entry, root, shard
from tests.registry.xorbs import content_of, register, send, sha256_of

_A, _B, _C, _D = (bytes([n]) * 700 for n in range(1, 5))


@pytest.fixture
def ours(alice: User, data_dir: Path) -> MLModel:
    """Alice's private repository."""
    return make_mlmodel("alice/m", actor=alice, visibility="private")


@pytest.fixture
def theirs(bob: User, data_dir: Path) -> MLModel:
    """Bob's public repository."""
    return make_mlmodel("bob/m", actor=bob)


def _refused(code: str, actor: User, mlmodel: MLModel, body: bytes) -> RegistryError:
    before = set(Blob.objects.values_list("sha256", flat=True))
    with pytest.raises(RegistryError) as refusal:
        shard_register(actor=actor, mlmodel=mlmodel, stream=io.BytesIO(body))
    assert refusal.value.code == code
    # Nothing of it became visible, and nothing lies about.
    assert set(Blob.objects.values_list("sha256", flat=True)) == before
    assert {entry.sha256 for entry in blob_store().entries()} == before
    assert not list(blob_store().leftovers())
    return refusal.value


def test_a_file_is_made_of_runs_of_several_xorbs_in_any_order(alice: User, ours: MLModel) -> None:
    one, two = send(alice, ours, [_A, _B, _C], PLANES), send(alice, ours, [_D, _A], AS_IS)
    chunks = [_B, _C, _D, _A, _A, _B]
    runs = [(one, 1, 3), (two, 0, 2), (one, 0, 1), (one, 1, 2)]
    sha256 = register(alice, ours, chunks, runs)
    assert content_of(alice, sha256) == b"".join(chunks)
    assert XorbRun.objects.filter(blob=sha256).count() == 4


def test_an_empty_file_is_made_of_no_run(alice: User, ours: MLModel) -> None:
    assert content_of(alice, register(alice, ours, [], [])) == b""


def test_a_file_is_made_out_of_another_once_the_payloads_are_gone(
    alice: User, ours: MLModel
) -> None:
    xorb = send(alice, ours, [_A, _B, _C])
    register(alice, ours, [_C, _A, _B], [(xorb, 2, 3), (xorb, 0, 2)])
    Blob.objects.exclude(xorbs=None).delete()
    chunks = [_B, _C]
    assert content_of(alice, register(alice, ours, chunks, [(xorb, 1, 3)])) == _B + _C


def test_the_same_shard_again_makes_nothing_and_is_no_error(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A, _B])
    body = shard(file_entry([_A, _B], [(xorb, 0, 2)], sha256_of([_A, _B])))
    made = [shard_register(actor=alice, mlmodel=ours, stream=io.BytesIO(body)) for _ in range(2)]
    assert made == [True, False]
    assert XorbRun.objects.count() == XetFile.objects.count() == 1


def test_what_somebody_made_of_chunks_they_had_is_theirs_too(
    alice: User, bob: User, ours: MLModel, theirs: MLModel
) -> None:
    xorb = send(alice, ours, [_A, _B])
    sha256 = register(alice, ours, [_A, _B], [(xorb, 0, 2)])
    assert not blobs_usable(bob, [sha256])
    send(bob, theirs, [_A, _B])
    register(bob, theirs, [_A, _B], [(xorb, 0, 2)])
    assert content_of(bob, sha256) == _A + _B


def test_chunks_of_a_xorb_somebody_else_sent_are_not_found(
    alice: User, bob: User, ours: MLModel, theirs: MLModel
) -> None:
    xorb = send(alice, ours, [_A, _B])
    register(alice, ours, [_A, _B], [(xorb, 0, 2)])
    body = shard(file_entry([_A], [(xorb, 0, 1)], sha256_of([_A])))
    refusal = _refused("xorb_not_found", bob, theirs, body)
    assert isinstance(refusal, NotFound)
    # Whoever only knows a hash is not told whether there is such a xorb.
    none = root([_A])
    body = shard(file_entry([_A], [(none, 0, 1)], sha256_of([_A])))
    unknown = _refused("xorb_not_found", bob, theirs, body)
    assert unknown.detail == refusal.detail.replace(spelled(xorb), spelled(none))


def test_chunks_of_a_file_one_may_read_may_be_used_and_no_others_of_its_xorb(
    alice: User, bob: User, ours: MLModel, theirs: MLModel
) -> None:
    public = make_mlmodel("alice/public", actor=alice)
    xorb = send(alice, ours, [_A, _B, _C])
    operations = [Add("f.bin", register(alice, ours, [_A, _B], [(xorb, 0, 2)]))]
    commit(actor=alice, mlmodel=public, message="Add", operations=operations, is_checked=False)
    assert content_of(bob, register(bob, theirs, [_B, _A], [(xorb, 1, 2), (xorb, 0, 1)])) == _B + _A
    body = shard(file_entry([_B, _C], [(xorb, 1, 3)], sha256_of([_B, _C])))
    _refused("xorb_not_found", bob, theirs, body)


def test_a_client_that_counts_on_what_is_not_here_gets_a_new_address(
    alice: User, ours: MLModel
) -> None:
    body = shard(file_entry([_A], [(root([_A]), 0, 1)], sha256_of([_A])))
    _refused("xorb_not_found", alice, ours, body)
    ours.refresh_from_db()
    assert ours.xet_epoch == 2


def test_another_sha256_than_the_bytes_have_is_refused(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A])
    _refused("digest_mismatch", alice, ours, shard(file_entry([_A], [(xorb, 0, 1)], "0" * 64)))
    sha256 = register(alice, ours, [_A], [(xorb, 0, 1)])
    # Also where the chunks are known as a file already, and the digest as another.
    other = register(alice, ours, [_B], [(send(alice, ours, [_B]), 0, 1)])
    assert sha256 != other
    _refused("digest_mismatch", alice, ours, shard(file_entry([_A], [(xorb, 0, 1)], other)))


def test_what_a_client_says_of_a_file_is_checked(alice: User, ours: MLModel) -> None:
    xorb, sha256 = send(alice, ours, [_A, _B]), sha256_of([_A])
    honest = file_entry([_A], [(xorb, 0, 1)], sha256)
    forged = {
        "another hash": file_entry([_B], [(xorb, 0, 1)], sha256)[:32] + honest[32:],
        "proof": honest[:96] + bytes(32) + honest[128:],
        "not as in": honest[:84] + b"\1" + honest[85:],
        "no chunks": honest[:92] + bytes(4) + honest[96:],
    }
    for says, entry in forged.items():
        assert says in str(_refused("invalid_shard", alice, ours, shard(entry)))
    beyond = file_entry([_A, _B, _C], [(xorb, 0, 3)], sha256)
    assert "not as in" in str(_refused("invalid_shard", alice, ours, shard(beyond)))


def test_a_small_shard_cannot_make_the_hub_hash_for_ever(alice: User, ours: MLModel) -> None:
    specks = [b"x"] * 40
    runs = [(send(alice, ours, specks), 0, 40)] * 3
    body = shard(file_entry(specks * 3, runs, sha256_of(specks * 3)))
    assert "smaller than" in str(_refused("invalid_shard", alice, ours, body))


def test_a_file_larger_than_the_hub_takes_is_refused_before_it_is_made(
    alice: User, ours: MLModel, settings: Any
) -> None:
    settings.MAX_BLOB_BYTES = 1000
    xorb = send(alice, ours, [_A])
    body = shard(file_entry([_A, _A], [(xorb, 0, 1)] * 2, sha256_of([_A, _A])))
    assert isinstance(_refused("body_too_large", alice, ours, body), TooLarge)


def test_what_the_namespace_has_no_room_for_is_refused_before_it_is_made(
    alice: User, ours: MLModel, settings: Any
) -> None:
    xorb = send(alice, ours, [_A])
    settings.QUOTA_BYTES = ours.used_bytes + len(_A)
    body = shard(file_entry([_A, _A], [(xorb, 0, 1)] * 2, sha256_of([_A, _A])))
    _refused("quota_exceeded", alice, ours, body)
    register(alice, ours, [_A], [(xorb, 0, 1)])
    settings.QUOTA_BYTES = 1
    with pytest.raises(Forbidden):
        send(alice, ours, [_B])


def test_a_refused_file_leaves_those_before_it(alice: User, ours: MLModel) -> None:
    xorb = send(alice, ours, [_A])
    good = file_entry([_A], [(xorb, 0, 1)], sha256_of([_A]))
    with pytest.raises(Invalid):
        shard_register(
            actor=alice,
            mlmodel=ours,
            stream=io.BytesIO(shard(good, file_entry([_A], [(xorb, 0, 1)], "0" * 64))),
        )
    assert content_of(alice, sha256_of([_A])) == _A


@pytest.mark.django_db(transaction=True)
def test_a_client_that_asks_again_meanwhile_waits_for_the_file_that_is_being_made(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As for a large file: it is noted before the next one's turn.
    monkeypatch.setattr("registry.services.storage.shard._BYTES_AT_ONCE", 1)
    alice = make_user("alice")
    ours = make_mlmodel("alice/m", actor=alice)
    xorb = send(alice, ours, [_A])
    body = shard(file_entry([_A], [(xorb, 0, 1)], sha256_of([_A])))
    made: list[bool] = []

    def ask() -> None:
        made.append(shard_register(actor=alice, mlmodel=ours, stream=io.BytesIO(body)))
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [False, False, False, True]
