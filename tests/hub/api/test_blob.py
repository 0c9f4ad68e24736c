"""Bytes on their way in."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from registry.tables import Blob, User
from tests.hub.api.client import Api

BYTES = b"seven bytes and more"
DIGEST = hashlib.sha256(BYTES).hexdigest()


@pytest.fixture(autouse=True)
def own_folder(data_dir: Path) -> Path:
    return data_dir


def kept(data_dir: Path) -> list[str]:
    return [path.name for path in (data_dir / "blobs").rglob("*") if path.is_file()]


def test_bytes_are_kept_under_their_digest(as_alice: Api, own_folder: Path) -> None:
    stored = as_alice.upload(BYTES, DIGEST).ok(201)
    header = f"blob {len(BYTES)}\0".encode()
    assert stored == {
        "sha256": DIGEST,
        "size_bytes": len(BYTES),
        "oid": hashlib.sha1(header + BYTES, usedforsecurity=False).hexdigest(),
    }
    assert len(kept(own_folder)) == 1


def test_the_same_bytes_again_are_no_error(as_alice: Api) -> None:
    as_alice.upload(BYTES, DIGEST).ok(201)
    as_alice.upload(BYTES, DIGEST).ok(200)


def test_an_empty_file_is_a_file(as_alice: Api) -> None:
    stored = as_alice.upload(b"", hashlib.sha256(b"").hexdigest()).ok(201)
    assert stored["size_bytes"] == 0


def test_bytes_of_another_digest_are_not_kept(as_alice: Api, own_folder: Path) -> None:
    answer = as_alice.upload(BYTES, "0" * 64)
    assert (answer.status, answer.code) == (400, "digest_mismatch")
    assert kept(own_folder) == []
    assert not Blob.objects.exists()


def test_a_body_that_breaks_off_is_not_kept(as_alice: Api, own_folder: Path) -> None:
    length = {"Content-Length": str(len(BYTES) + 5)}
    answer = as_alice.send("PUT", f"blobs/{DIGEST}", raw=BYTES, **length)
    assert (answer.status, answer.code) == (400, "size_mismatch")
    assert kept(own_folder) == []


def test_a_body_without_a_length_is_refused(as_alice: Api) -> None:
    answer = as_alice.send("PUT", f"blobs/{DIGEST}", raw=BYTES, **{"Content-Length": ""})
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_too_many_bytes_are_refused_before_they_are_read(
    as_alice: Api, settings: Any, own_folder: Path
) -> None:
    settings.MAX_BLOB_BYTES = len(BYTES) - 1
    answer = as_alice.upload(BYTES, DIGEST)
    assert (answer.status, answer.code) == (413, "body_too_large")
    assert not (own_folder / "blobs").exists()


def test_a_file_may_be_larger_than_a_document(as_alice: Api, settings: Any) -> None:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 3
    as_alice.upload(BYTES, DIGEST).ok(201)


@pytest.mark.parametrize("digest", ["abc", DIGEST.upper(), DIGEST + "0", "../" + DIGEST])
def test_a_name_that_is_no_digest_names_nothing(as_alice: Api, digest: str) -> None:
    assert as_alice.upload(BYTES, digest).code == "page_not_found"


def test_nobody_sends_bytes_unnamed(anonymous: Api) -> None:
    assert anonymous.upload(BYTES, DIGEST).code == "not_authenticated"


def test_missing_bytes_are_told(as_alice: Api) -> None:
    as_alice.upload(BYTES, DIGEST).ok(201)
    asked = {"sha256": [DIGEST, "0" * 64]}
    assert as_alice.post("blobs/missing", asked).ok() == {"missing": ["0" * 64]}
    assert as_alice.send("HEAD", f"blobs/{DIGEST}").headers["X-Blob-Size"] == str(len(BYTES))
    assert as_alice.send("HEAD", f"blobs/{'0' * 64}").status == 404


def test_knowing_a_digest_does_not_tell_whether_others_have_the_bytes(
    as_alice: Api, bob: User
) -> None:
    as_alice.upload(BYTES, DIGEST).ok(201)
    other = Api(bob)
    assert other.post("blobs/missing", {"sha256": [DIGEST]}).ok() == {"missing": [DIGEST]}
    assert other.send("HEAD", f"blobs/{DIGEST}").status == 404
    other.upload(BYTES, DIGEST).ok(201)


@pytest.mark.parametrize("asked", [["x"], [DIGEST] * 1001, "x", [None], None])
def test_only_digests_can_be_asked_for(as_alice: Api, asked: object) -> None:
    assert as_alice.post("blobs/missing", {"sha256": asked}).code == "invalid_request"
