import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Forbidden, Invalid, NotFound, TooLarge, Unauthenticated
from registry.selectors.people.account import user_of_token
from registry.selectors.storage.blob import (
    blob_get,
    blob_missing,
    blob_open,
    blob_path,
    blob_path_of,
)
from registry.services.storage import blob as services
from registry.services.storage.blob import blob_adopt, blob_store, blobs_store
from registry.states import Scope
from registry.storage import Arrived
from registry.storage import blob_store as bytes_store
from registry.storage.git import blob_oid
from registry.tables import AuditEntry, Blob, Upload, User
from tests.factories import make_token, store

DATA = b"bytes " * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()


def test_an_uploaded_blob_can_be_read_and_named(data_dir: Path, alice: User) -> None:
    blob = blob_store(actor=alice, stream=io.BytesIO(DATA), sha256=SHA256, size_bytes=len(DATA))
    assert (blob.sha256, blob.size_bytes, blob.git_oid) == (SHA256, len(DATA), blob_oid(DATA))
    with blob_open(blob) as stream:
        stream.seek(6)
        assert stream.read(6) == b"bytes "
    path = blob_path(blob)
    assert path is not None
    assert path.is_relative_to(data_dir)
    assert path == blob_path_of(SHA256)
    assert blob_get(alice, SHA256) == blob


def test_the_same_upload_twice_is_one_blob_and_one_proof(alice: User, bob: User) -> None:
    for actor in (alice, alice, bob):
        store(DATA, actor)
    assert Blob.objects.count() == 1
    assert {upload.user for upload in Upload.objects.all()} == {alice, bob}


@pytest.mark.parametrize(
    ("announced", "code"),
    [({"sha256": "0" * 64}, "digest_mismatch"), ({"size_bytes": 5}, "size_mismatch")],
)
def test_a_damaged_upload_proves_nothing(
    data_dir: Path, alice: User, announced: dict[str, Any], code: str
) -> None:
    with pytest.raises(Invalid) as caught:
        blob_store(actor=alice, stream=io.BytesIO(DATA), **announced)
    assert caught.value.code == code
    assert not Upload.objects.exists()
    assert not Blob.objects.exists()
    assert blob_missing(alice, [SHA256]) == [SHA256]
    assert not [path for path in data_dir.rglob("*") if path.is_file()]


@pytest.mark.parametrize("told", [len(DATA), None])
def test_a_body_beyond_the_limit_is_refused(
    data_dir: Path, alice: User, settings: Any, told: int | None
) -> None:
    settings.MAX_BLOB_BYTES = len(DATA) - 1
    with pytest.raises(TooLarge) as caught:
        blob_store(actor=alice, stream=io.BytesIO(DATA), size_bytes=told)
    assert caught.value.code == "body_too_large"
    settings.MAX_BLOB_BYTES = len(DATA)
    blob_store(actor=alice, stream=io.BytesIO(DATA), size_bytes=told)


def test_many_small_files_are_kept_some_at_a_time_and_noted_each(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services, "_TOGETHER", 4)
    monkeypatch.setattr(services, "_TOGETHER_BYTES", 1000)
    kept: list[int] = []
    here, keep = bytes_store(), bytes_store().keep

    def count(*arrivals: Arrived) -> None:
        kept.append(len(arrivals))
        keep(*arrivals)

    monkeypatch.setattr(here, "keep", count)
    some = [bytes([number]) * length for number, length in enumerate([1] * 5 + [600] * 2 + [1] * 2)]
    with blobs_store(actor=alice) as take:
        digests = [take(io.BytesIO(data), len(data)) for data in [*some, some[-1]]]
    # Each is looked at twice, before and after its row is held; the last two are the same.
    assert kept == [4, 4, 3, 3, 2, 2]
    assert digests[:-1] == [hashlib.sha256(data).hexdigest() for data in some]
    assert set(Upload.objects.values_list("user", "blob")) == {(alice.pk, one) for one in digests}
    noted = AuditEntry.objects.filter(action="blob.store", actor=alice)
    sizes = {entry.subject: entry.detail["size_bytes"] for entry in noted}
    assert sizes == {sha256: len(data) for sha256, data in zip(digests, some, strict=False)}


def test_a_wrong_one_of_many_small_files_takes_those_that_wait_with_it(
    data_dir: Path, alice: User
) -> None:
    def send() -> None:
        with blobs_store(actor=alice) as take:
            for length in (4, 5):
                take(io.BytesIO(b"four"), length)

    with pytest.raises(Invalid):
        send()
    assert not Blob.objects.exists()
    assert not [path for path in data_dir.rglob("*") if path.is_file()]


def test_a_visitor_or_a_reading_token_uploads_nothing(alice: User) -> None:
    with pytest.raises(Unauthenticated):
        blob_store(actor=AnonymousUser(), stream=io.BytesIO(DATA))
    with pytest.raises(Forbidden):
        store(DATA, user_of_token(make_token(alice, Scope.READ)))
    assert not Blob.objects.exists()


def test_a_workers_file_is_the_hubs_own(data_dir: Path, tmp_path: Path, alice: User) -> None:
    artefact = tmp_path / "model.ort"
    artefact.write_bytes(DATA)
    blob = blob_adopt(path=artefact)
    assert blob.sha256 == SHA256
    assert artefact.read_bytes() == DATA
    assert not Upload.objects.exists()
    with pytest.raises(NotFound):
        blob_get(alice, SHA256)


@pytest.mark.parametrize("sha256", ["0" * 64, "nonsense", "", "../../etc/passwd", "a\0b"])
def test_bytes_that_are_not_here_are_not_found(alice: User, sha256: str) -> None:
    for look in (lambda: blob_get(alice, sha256), lambda: blob_path_of(sha256)):
        with pytest.raises(NotFound) as caught:
            look()
        assert caught.value.code == "blob_not_found"


def test_thousands_of_digests_are_asked_for_at_once(alice: User) -> None:
    known = store(DATA, alice).sha256
    asked = [hashlib.sha256(str(n).encode()).hexdigest() for n in range(3000)]
    assert blob_missing(alice, [*asked, known]) == asked
