"""Xorbs: taken in only as what they are named, and by whom."""

import io
from pathlib import Path

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.storage.blob import blobs_usable
from registry.services.storage.xorb import xorb_store
from registry.states import Scope
from registry.storage import blob_store
from registry.tables import AuditEntry, Blob, MLModel, User, Xorb, XorbChunk, XorbUpload
from registry.xet.hashes import chunk_hash, spelled
from tests.factories import make_mlmodel, make_token
from tests.registry.xet.packer import AS_IS, LZ4, PLANES, packed, root
from tests.registry.xorbs import content_of, register, send

_CHUNKS = [b"galaxy " * 50, b"star " * 70, b"dust"]


@pytest.fixture
def ours(alice: User, data_dir: Path) -> MLModel:
    """Alice's public repository."""
    return make_mlmodel("alice/m", actor=alice)


def test_a_xorb_is_kept_with_its_chunks_and_who_had_it(alice: User, ours: MLModel) -> None:
    digest = send(alice, ours, _CHUNKS)
    xorb = Xorb.objects.get()
    assert (xorb.hash, xorb.chunk_count) == (spelled(digest), 3)
    assert xorb.payload is not None
    assert XorbUpload.objects.get().user == alice
    assert XorbChunk.objects.get().hash == spelled(chunk_hash(_CHUNKS[0]))
    # The payload is nobody's to commit.
    assert not blobs_usable(alice, [xorb.payload.sha256])
    assert AuditEntry.objects.filter(action="xorb.store").count() == 1


def test_the_same_xorb_from_another_is_proof_for_them_and_kept_once(
    alice: User, bob: User, ours: MLModel
) -> None:
    theirs = make_mlmodel("bob/m", actor=bob)
    send(alice, ours, _CHUNKS, LZ4)
    kept = Xorb.objects.get().payload_id
    digest = send(bob, theirs, _CHUNKS, PLANES)
    assert Xorb.objects.get().payload_id == kept
    assert content_of(bob, register(bob, theirs, _CHUNKS, [(digest, 0, 3)])) == b"".join(_CHUNKS)


def test_nobody_is_told_that_somebody_else_has_a_xorb(
    alice: User, bob: User, ours: MLModel
) -> None:
    data, name = packed(_CHUNKS[0]), spelled(root(_CHUNKS[:1]))

    def sent(actor: User) -> bool:
        return xorb_store(actor=actor, mlmodel=ours, xorb_hash=name, stream=io.BytesIO(data))

    assert [sent(alice), sent(bob), sent(alice), sent(bob)] == [True, True, False, False]


def test_a_xorb_packed_otherwise_replaces_a_payload_that_is_gone(
    alice: User, ours: MLModel
) -> None:
    send(alice, ours, _CHUNKS, LZ4)
    Blob.objects.exclude(xorbs=None).delete()
    digest = send(alice, ours, _CHUNKS, AS_IS)
    assert content_of(alice, register(alice, ours, _CHUNKS, [(digest, 0, 3)])) == b"".join(_CHUNKS)


@pytest.mark.parametrize(
    "forged",
    [
        packed(b"another chunk"),
        packed(_CHUNKS[0])[:-1],
        packed(_CHUNKS[0]) + packed(_CHUNKS[1]),
        packed(_CHUNKS[0], claims=10**6),
        b"",
    ],
)
def test_of_a_forged_xorb_nothing_is_kept(alice: User, ours: MLModel, forged: bytes) -> None:
    before = {entry.sha256 for entry in blob_store().entries()}
    with pytest.raises(Invalid) as refusal:
        xorb_store(
            actor=alice,
            mlmodel=ours,
            xorb_hash=spelled(root(_CHUNKS[:1])),
            stream=io.BytesIO(forged),
        )
    assert refusal.value.code == "invalid_xorb"
    assert not Xorb.objects.exists()
    assert {entry.sha256 for entry in blob_store().entries()} == before
    assert not list(blob_store().leftovers())


def test_an_address_that_is_no_hash_is_refused(alice: User, ours: MLModel) -> None:
    with pytest.raises(Invalid, match="no hash"):
        xorb_store(actor=alice, mlmodel=ours, xorb_hash="xyz", stream=io.BytesIO())


def test_a_length_no_xorb_has_is_refused_unread(alice: User, ours: MLModel) -> None:
    with pytest.raises(Invalid, match="at most"):
        xorb_store(
            actor=alice,
            mlmodel=ours,
            xorb_hash="0" * 64,
            stream=io.BytesIO(),
            size_bytes=2**30,
        )


def test_whoever_may_not_read_a_repository_cannot_send_to_it(alice: User, bob: User) -> None:
    secret = make_mlmodel("alice/secret", actor=alice, visibility="private")
    with pytest.raises(NotFound):
        send(bob, secret, _CHUNKS)


def test_nobody_and_tokens_that_only_read_are_refused(alice: User, ours: MLModel) -> None:
    with pytest.raises(Unauthenticated):
        send(AnonymousUser(), ours, _CHUNKS)  # type: ignore[arg-type]
    make_token(alice, Scope.READ)
    alice.token = alice.tokens.get()
    with pytest.raises(Forbidden):
        send(alice, ours, _CHUNKS)
