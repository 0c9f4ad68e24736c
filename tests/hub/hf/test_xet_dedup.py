"""Chunks that the hub has are not sent again, whoever sent them where, and after a cut."""

import time
from datetime import timedelta
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import numpy as np
import pytest
from django.db.models import Q

from registry.services.repository.revision import Add, commit
from registry.services.storage.xorb import xorb_store, xorb_sweep, xorbs_shrink
from registry.tables import AuditEntry, Blob, MLModel, User, Xorb
from registry.xet.hashes import parsed
from tests.factories import make_mlmodel
from tests.hub.hf.xet_uploads import ClientOf, XetClient, content_of, packed_bytes

_MIB = 2**20


def _file(path: Path, mib: int, *, edited: bool = False) -> Path:
    """Noise, of which 0.01 % in the middle may be other noise."""
    content = bytearray(np.random.default_rng(11).bytes(mib * _MIB))
    if edited:
        at, length = len(content) // 2, len(content) // 10_000
        content[at : at + length] = np.random.default_rng(12).bytes(length)
    path.write_bytes(content)
    return path


def _publish(mlmodel: MLModel, actor: User, sha256: str) -> None:
    operations = [Add("file.bin", sha256)]
    commit(
        actor=actor,
        mlmodel=mlmodel,
        message="Add a file",
        operations=operations,
        is_checked=False,
    )


def _lose(sha256: str) -> None:
    """Let the hub forget a file and all that was sent for it."""
    Blob.objects.filter(Q(pk=sha256) | Q(xorbs__isnull=False)).delete()


def _times_sent() -> dict[str, int]:
    subjects = AuditEntry.objects.filter(action="xorb.store").values_list("subject", flat=True)
    return {xorb: list(subjects).count(xorb) for xorb in subjects}


@pytest.mark.slow
def test_a_small_edit_of_a_public_file_sends_under_a_hundredth_of_it(
    xet_client_of: ClientOf, alice: User, bob: User, tmp_path: Path
) -> None:
    ours = make_mlmodel("alice/m", actor=alice)
    (done,) = xet_client_of(alice, "alice").upload("models/alice/m", _file(tmp_path / "a", 40))
    _publish(ours, alice, done["sha256"])
    first = packed_bytes()
    make_mlmodel("bob/m", actor=bob)
    edited = _file(tmp_path / "b", 40, edited=True)
    # Another person, another repository, an empty cache: only the hub knows the chunks.
    (done,) = xet_client_of(bob, "bob").upload("models/bob/m", edited)
    assert content_of(bob, done["sha256"]) == edited.read_bytes()
    assert packed_bytes() - first < 0.01 * first


def test_chunks_of_somebody_elses_private_file_are_neither_told_nor_taken(
    xet_client_of: ClientOf, alice: User, bob: User, tmp_path: Path
) -> None:
    ours = make_mlmodel("alice/m", actor=alice, visibility="private")
    secret = _file(tmp_path / "a", 1)
    (done,) = xet_client_of(alice, "alice").upload("models/alice/m", secret)
    _publish(ours, alice, done["sha256"])
    make_mlmodel("bob/m", actor=bob)
    xet_client_of(bob, "bob").upload("models/bob/m", secret)
    # Bob proved to have them, and had to send them for that.
    assert list(_times_sent().values()) == [2]
    assert content_of(bob, done["sha256"]) == secret.read_bytes()


def _noted(home: Path, xorb: str) -> bool:
    """Whether the client wrote down that it sent it."""
    digest = parsed(xorb)
    assert digest is not None
    return any(digest in path.read_bytes() for path in home.rglob("*.mdb"))


@pytest.fixture
def killed_midway(
    xet_client_of: ClientOf, alice: User, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A file whose first xorb arrived and was noted by a client that died before the second did."""
    make_mlmodel("alice/m", actor=alice)
    path, dead = _file(tmp_path / "a", 66), Event()

    def first_only(*, size_bytes: int, **given: Any) -> bool:
        if size_bytes < 32 * _MIB:
            dead.wait(120)
        return xorb_store(size_bytes=size_bytes, **given)

    monkeypatch.setattr("hub.hf.xet.xorb_store", first_only)
    # By itself the client notes what it sent every 20 seconds.
    always = {"HF_XET_DATA_SESSION_XORB_METADATA_FLUSH_MAX_COUNT": "1"}
    until = time.monotonic() + 120
    with xet_client_of(alice).start("models/alice/m", [path], **always) as client:
        while not any(_noted(tmp_path / "home", sent) for sent in _times_sent()):
            assert client.poll() is None, client.communicate()
            assert time.monotonic() < until, "the client notes nothing"
            time.sleep(0.05)
        client.kill()
    dead.set()
    return path


@pytest.mark.slow
def test_an_upload_that_was_killed_goes_on_where_it_ended(
    xet_client_of: ClientOf, alice: User, killed_midway: Path
) -> None:
    (first,) = _times_sent()
    # A client that has forgotten is told of what arrived; one that remembers need not ask.
    alone = {"HF_XET_DEDUPLICATION_GLOBAL_DEDUP_QUERY_ENABLED": "false"}
    for home, environment in (("fresh", {}), ("home", alone)):
        client = xet_client_of(alice, home)
        (done,) = client.upload("models/alice/m", killed_midway, **environment)
        assert content_of(alice, done["sha256"]) == killed_midway.read_bytes()
        after = _times_sent()
        assert len(after) > 1
        assert after[first] == 1


def test_a_client_that_counts_on_lost_chunks_is_told_to_send_them_again(
    xet_client_of: ClientOf, alice: User, tmp_path: Path
) -> None:
    make_mlmodel("alice/m", actor=alice)
    path = _file(tmp_path / "a", 1)
    client = xet_client_of(alice)
    (done,) = client.upload("models/alice/m", path)
    _lose(done["sha256"])
    # The first upload after learns it by failing at once, the next one works.
    assert "404" in client.failure("models/alice/m", path)
    client.upload("models/alice/m", path)
    assert content_of(alice, done["sha256"]) == path.read_bytes()


def test_no_client_counts_on_chunks_whose_loss_is_followed(
    xet_client_of: ClientOf, alice: User, tmp_path: Path
) -> None:
    make_mlmodel("alice/m", actor=alice)
    path = _file(tmp_path / "a", 1)
    client = xet_client_of(alice)
    (done,) = client.upload("models/alice/m", path)
    assert xorb_sweep(grace=timedelta(days=1)) == 1  # its chunks lie in the file
    client.upload("models/alice/m", path)
    assert list(_times_sent().values()) == [1]
    _lose(done["sha256"])
    xorbs_shrink(Xorb.objects.values_list("hash", flat=True))
    assert not Xorb.objects.exists()
    client.upload("models/alice/m", path)
    assert content_of(alice, done["sha256"]) == path.read_bytes()


def test_a_chunk_that_nobody_sent_is_not_found(
    xet_client_of: ClientOf, alice: User, tmp_path: Path
) -> None:
    mlmodel = make_mlmodel("alice/m", actor=alice)
    client: XetClient = xet_client_of(alice)
    ticket = client.ticket("models/alice/m")
    address = f"{ticket['casUrl']}/v1/chunks/default/{'0' * 64}"
    headers = {"Authorization": f"Bearer {ticket['accessToken']}"}
    assert httpx.get(address, headers=headers).status_code == 404
    assert str(mlmodel.uuid) in ticket["casUrl"]
