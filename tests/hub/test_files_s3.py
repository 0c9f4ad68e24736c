"""A hub whose blobs lie in a bucket: uploads, commits, downloads, workers, checks, collections."""

import hashlib
import io
import secrets
import urllib.request
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from huggingface_hub import HfApi, close_session, hf_hub_download

from hub.files import serve_blob
from registry.fair.score.served import sha256_in
from registry.selectors.storage.blob import blob_open, blob_path, blob_path_of
from registry.services.storage.fsck import fsck
from registry.services.storage.gc import gc
from registry.services.storage.parts import part_store, part_url, parts_begin, parts_join
from registry.storage import blob_store
from registry.storage.s3_bucket import S3Address
from registry.tables import Blob, User
from tests.factories import make_mlmodel, make_token, store
from tests.programs import needs
from tests.registry.storage.server import running

pytestmark = [needs("weed"), pytest.mark.slow, pytest.mark.django_db]
MIB = 2**20
DATA = bytes(range(256)) * 400


@pytest.fixture(scope="module")
def server() -> Iterator[S3Address]:
    """A bucket behind a real S3 API."""
    with running() as address:
        yield address


@pytest.fixture(autouse=True)
def bucket(server: S3Address, settings: Any, data_dir: Path) -> None:
    """This test's hub keeps its blobs there, in a corner of its own."""
    settings.BLOBS = f"s3://{server.bucket}/{secrets.token_hex(8)}"
    settings.S3_ENDPOINT, settings.S3_REGION = server.endpoint, server.region
    settings.S3_KEY, settings.S3_SECRET = server.key, server.secret
    settings.PART_BYTES = 5 * MIB


def ask(blob: Blob, method: str = "GET", **headers: str) -> Any:
    request = RequestFactory().generic(method, "/", headers=headers)
    response = serve_blob(request, blob, path="café.bin", cache_control="public, no-cache")
    response.body = b"".join(response) if response.streaming else response.content  # type: ignore[attr-defined]
    response.close()
    return response


def fetch(url: str, **headers: str) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:  # noqa: S310
        return answer.status, answer.read(), answer.headers


def test_who_may_read_a_file_is_sent_to_the_bucket() -> None:
    response = ask(store(DATA))
    assert response.status_code == 302
    assert response["ETag"] == f'"{hashlib.sha256(DATA).hexdigest()}"'
    # The bucket cannot tell what the bytes are to be; the hub has it told before.
    assert sha256_in(response["Repr-Digest"]) == hashlib.sha256(DATA).hexdigest()
    assert response["Cache-Control"] == "private, no-store", "the address must not be kept"
    status, body, headers = fetch(response["Location"])
    assert (status, body) == (200, DATA)
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"] == response["Content-Disposition"]
    assert fetch(response["Location"], Range="bytes=5-9")[:2] == (206, DATA[5:10])


def test_head_is_answered_by_the_hub() -> None:
    response = ask(store(DATA), "HEAD")
    assert (response.status_code, response["Content-Length"]) == (200, str(len(DATA)))


def test_where_clients_may_not_go_there_the_hub_streams(settings: Any) -> None:
    settings.S3_REDIRECT = False
    blob = store(DATA)
    response = ask(blob)
    assert (response.status_code, response.body) == (200, DATA)
    response = ask(blob, Range="bytes=1000-1999")
    assert (response.status_code, response.body) == (206, DATA[1000:2000])


def test_the_client_of_the_hugging_face_hub_downloads_through_the_redirect(
    live_server: Any, settings: Any, alice: User, tmp_path: Path
) -> None:
    settings.HUB_URL = live_server.url
    make_mlmodel("alice/net", files={"model.bin": DATA, "README.md": "# A model\n"})
    token = make_token(alice)
    for name, content in {"model.bin": DATA, "README.md": b"# A model\n"}.items():
        path = hf_hub_download(
            "alice/net", name, endpoint=live_server.url, token=token, cache_dir=tmp_path
        )
        assert Path(path).read_bytes() == content
    api = HfApi(endpoint=live_server.url, token=token)
    assert {file.rfilename for file in api.model_info("alice/net").siblings or []} >= {"model.bin"}
    # Its connections keep threads of the server, and these the database, busy.
    close_session()


def test_workers_get_a_local_file(data_dir: Path) -> None:
    blob = store(DATA)
    assert blob_path(blob) is None
    path = blob_path_of(blob.sha256)
    assert path.is_relative_to(data_dir)
    assert path.read_bytes() == DATA
    assert blob_path_of(blob.sha256) == path
    with blob_open(blob) as stream:
        stream.seek(-3, io.SEEK_END)
        assert stream.read() == DATA[-3:]


def test_parts_go_to_the_bucket_or_through_the_hub(alice: User, settings: Any) -> None:
    data = secrets.token_bytes(11 * MIB)
    sha256 = hashlib.sha256(data).hexdigest()
    upload = parts_begin(actor=alice, size_bytes=len(data))
    etags = {}
    for number in range(1, upload.count + 1):
        piece = data[(number - 1) * upload.part_bytes : number * upload.part_bytes]
        url = part_url(upload=upload, number=number, expires_s=60)
        assert url is not None
        if number == 1:
            request = urllib.request.Request(url, piece, method="PUT")  # noqa: S310
            with urllib.request.urlopen(request) as answer:  # noqa: S310
                etags[number] = answer.headers["ETag"].strip('"')
        else:
            etags[number] = part_store(upload=upload, number=number, stream=io.BytesIO(piece))
    settings.S3_REDIRECT = False
    assert part_url(upload=upload, number=1, expires_s=60) is None
    blob = parts_join(actor=alice, upload=upload, etags=etags, sha256=sha256)
    assert (blob.sha256, blob.size_bytes) == (sha256, len(data))
    again = parts_join(actor=alice, upload=upload, etags=etags, sha256=sha256)
    assert again == blob, "a client that lost the answer may ask again"


def test_faults_are_found_and_garbage_is_collected(alice: User) -> None:
    make_mlmodel("alice/net", files={"a": b"kept"})
    lost = store(b"never committed", alice)
    assert list(fsck()) == []
    gc(grace=timedelta(0))
    assert not blob_store().exists(lost.sha256)
    blob_store().delete(Blob.objects.get(size_bytes=4).sha256)
    assert [fault.kind for fault in fsck()] == ["bytes_missing"]
