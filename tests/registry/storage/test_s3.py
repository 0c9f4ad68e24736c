"""Blobs in a bucket: the contract of every store, and what only an S3 API does."""

import hashlib
import io
import secrets
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest

from registry.errors import Invalid, Unavailable
from registry.storage.cache import LocalCopies
from registry.storage.s3 import S3Store
from registry.storage.s3_bucket import S3Address, make_client
from tests.programs import needs
from tests.registry.storage.contract import DATA, SHA256, StoreContract, content, put

pytestmark = [needs("weed"), pytest.mark.slow]
MIB = 2**20


@pytest.fixture
def address(bucket: S3Address) -> S3Address:
    """A corner of the bucket that is this test's own."""
    return replace(bucket, prefix=secrets.token_hex(8))


@pytest.fixture
def store(address: S3Address, tmp_path: Path) -> S3Store:
    copies = LocalCopies(tmp_path / "copies", 100 * MIB)
    return S3Store(address, copies, part_bytes=5 * MIB, held_bytes=5 * MIB, copied_bytes=6 * MIB)


class TestS3Store(StoreContract):
    """The contract, met by a bucket."""

    large = 13 * MIB


def fetch(
    url: str, data: bytes | None = None, method: str = "GET", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """What the bucket itself answers to whoever has one of its addresses."""
    request = urllib.request.Request(url, data, headers, method=method)  # noqa: S310
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return answer.status, answer.read(), dict(answer.headers)


def test_whoever_has_the_address_fetches_bytes_and_ranges_of_them(store: S3Store) -> None:
    put(store, DATA)
    url = store.url(
        SHA256,
        expires_s=60,
        content_type="text/plain; charset=utf-8",
        disposition="attachment; filename*=UTF-8''caf%C3%A9.txt",
    )
    status, body, headers = fetch(url)
    assert (status, body) == (200, DATA)
    assert headers["Content-Type"] == "text/plain; charset=utf-8"
    assert headers["Content-Disposition"] == "attachment; filename*=UTF-8''caf%C3%A9.txt"
    status, body, headers = fetch(url, Range="bytes=10-19")
    assert (status, body) == (206, DATA[10:20])
    with pytest.raises(urllib.error.HTTPError, match="403"):
        fetch(url.replace(SHA256, hashlib.sha256(b"other").hexdigest()))


def test_parts_go_to_the_bucket_directly(store: S3Store) -> None:
    data = secrets.token_bytes(12 * MIB)
    sha256 = hashlib.sha256(data).hexdigest()
    upload = store.parts_begin(len(data))
    etags = {}
    for number in range(1, upload.count + 1):
        start = (number - 1) * upload.part_bytes
        piece = data[start : start + upload.part_bytes]
        url = store.part_url(upload, number, expires_s=60)
        etags[number] = fetch(url, piece, "PUT")[2]["ETag"].strip('"')
    with store.parts_join(upload, etags, sha256=sha256) as arrived:
        store.keep(arrived)
    assert content(store, sha256) == data


def test_a_part_that_never_came_cannot_be_joined(store: S3Store) -> None:
    upload = store.parts_begin(12 * MIB)
    etag = store.part_put(upload, 1, io.BytesIO(bytes(5 * MIB)))
    with (
        pytest.raises(Invalid) as caught,
        store.parts_join(upload, dict.fromkeys((1, 2, 3), etag), sha256=SHA256),
    ):
        pass
    assert caught.value.code == "invalid_request"


def test_only_the_range_read_is_fetched(store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    data = secrets.token_bytes(9 * MIB)
    sha256 = put(store, data).sha256
    asked: list[str] = []
    real = store._bucket.client.get_object

    def get_object(**given: str) -> dict[str, object]:
        asked.append(given["Range"])
        return real(**given)

    monkeypatch.setattr(store._bucket.client, "get_object", get_object)
    with store.open(sha256) as stream:
        stream.seek(8 * MIB)
        assert stream.read(100) == data[8 * MIB : 8 * MIB + 100]
    assert asked == [f"bytes={8 * MIB}-"]


def test_an_object_that_is_too_short_is_replaced(store: S3Store, address: S3Address) -> None:
    put(store, DATA)
    key = store._bucket.blob(SHA256)
    make_client(address).put_object(**key, Body=DATA[:10])
    put(store, DATA)
    assert content(store, SHA256) == DATA


def test_a_damaged_object_becomes_no_local_file(store: S3Store, address: S3Address) -> None:
    put(store, DATA)
    make_client(address).put_object(**store._bucket.blob(SHA256), Body=b"X" + DATA[1:])
    with pytest.raises(Invalid) as caught:
        store.local(SHA256)
    assert caught.value.code == "digest_mismatch"


RECEIVE = """
import sys, time
from pathlib import Path
from registry.storage.cache import LocalCopies
from registry.storage.s3 import S3Store
from registry.storage.s3_bucket import S3Address
store = S3Store(S3Address(*sys.argv[1:]), LocalCopies(Path("unused"), 1), held_bytes=5 << 20)
class Slow:
    left = 12
    def read(self, size):
        if not self.left:
            print("sent", flush=True)
            time.sleep(60)
        self.left -= 1
        return b"x" * size
with store.receive(Slow()) as arrived:
    store.keep(arrived)
"""


def test_what_a_killed_process_left_is_invisible_and_can_be_discarded(
    store: S3Store, address: S3Address
) -> None:
    given = (address.bucket, address.prefix, address.endpoint, address.region)
    command = [sys.executable, "-c", RECEIVE, *given, address.key, address.secret]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "sent\n"
        process.kill()
    assert not list(store.entries())
    (leftover,) = store.leftovers()
    assert leftover.size_bytes == 10 * MIB
    store.discard(leftover)
    assert not list(store.leftovers())


def test_a_store_out_of_reach_is_said_to_be(address: S3Address, tmp_path: Path) -> None:
    nowhere = replace(address, endpoint="http://127.0.0.1:9")
    store = S3Store(nowhere, LocalCopies(tmp_path, 1))
    for work in (
        lambda: store.exists(SHA256),
        lambda: put(store, DATA),
        lambda: list(store.entries()),
    ):
        with pytest.raises(Unavailable) as caught:
            work()
        assert caught.value.code == "storage_unavailable"
