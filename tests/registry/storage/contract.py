"""What every store must do. A test file of a store inherits :class:`StoreContract`."""

import hashlib
import io
import secrets
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from registry.errors import Invalid, NotFound, TooLarge
from registry.storage.base import Arrived, BlobStore, PartUpload, Readable
from registry.storage.digest import sha256_of
from registry.storage.git import blob_oid

DATA = b"some bytes worth keeping" * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()


def put(store: BlobStore, data: bytes, **announced: Any) -> Arrived:
    """Bytes, kept."""
    with store.receive(io.BytesIO(data), **announced) as arrived:
        store.keep(arrived)
    return arrived


def put_all(store: BlobStore, streams: Sequence[Readable]) -> None:
    with ExitStack() as stack:
        store.keep(*[stack.enter_context(store.receive(stream)) for stream in streams])


def content(store: BlobStore, sha256: str) -> bytes:
    with store.open(sha256) as stream:
        return stream.read()


def is_empty(store: BlobStore) -> bool:
    return not list(store.entries()) and not list(store.leftovers())


def etags_of(store: BlobStore, upload: PartUpload, data: bytes) -> dict[int, str]:
    """Send all parts, the last one first."""
    etags = {}
    for number in range(upload.count, 0, -1):
        start = (number - 1) * upload.part_bytes
        piece = data[start : start + upload.part_bytes]
        etags[number] = store.part_put(upload, number, io.BytesIO(piece))
    return etags


class Endless:
    """A body without end that counts what was read of it."""

    given = 0

    def read(self, size: int, /) -> bytes:
        self.given += size
        return b"x" * size


class Broken:
    """A body whose sender goes away."""

    def read(self, size: int, /) -> bytes:  # noqa: ARG002
        raise ConnectionResetError


class StoreContract:
    """Inherited by a test class whose module has a fixture ``store``: an empty store.

    Attributes:
        large: More bytes than the store sends at once or takes as one part.
    """

    large = 300_000

    @pytest.mark.parametrize("length", [0, 1, 24_000, large])
    @pytest.mark.parametrize("told", [True, False])
    def test_bytes_come_back_as_they_went_in(
        self, store: BlobStore, length: int, *, told: bool
    ) -> None:
        data = secrets.token_bytes(length)
        arrived = put(store, data, size_bytes=length if told else None)
        assert arrived.sha256 == hashlib.sha256(data).hexdigest()
        assert (arrived.size_bytes, arrived.git_oid) == (length, blob_oid(data))
        assert content(store, arrived.sha256) == data
        assert store.exists(arrived.sha256)
        assert store.size(arrived.sha256) == length
        assert store.local(arrived.sha256).read_bytes() == data

    def test_any_part_of_the_bytes_can_be_read(self, store: BlobStore) -> None:
        data = secrets.token_bytes(50_000)
        with store.open(put(store, data).sha256) as stream:
            assert stream.seekable()
            assert stream.seek(49_000) == 49_000
            assert stream.read(500) == data[49_000:49_500]
            assert stream.tell() == 49_500
            stream.seek(10)
            assert stream.read(5) == data[10:15]
            stream.seek(-3, io.SEEK_END)
            assert stream.read() == data[-3:]
            assert stream.read() == b""
            stream.seek(60_000)
            assert stream.read(1) == b""

    def test_what_arrived_is_invisible_until_kept_and_else_gone(self, store: BlobStore) -> None:
        with store.receive(io.BytesIO(DATA)):
            pass
        assert is_empty(store)
        with store.receive(io.BytesIO(DATA)) as arrived:
            assert not store.exists(SHA256)
            assert not list(store.entries())
            with pytest.raises(NotFound):
                store.open(SHA256)
            store.keep(arrived)
            assert store.exists(SHA256)
        assert content(store, SHA256) == DATA

    def test_what_was_deleted_since_it_was_kept_can_be_kept_again(self, store: BlobStore) -> None:
        with store.receive(io.BytesIO(DATA)) as arrived:
            store.keep(arrived)
            store.delete(SHA256)
            store.keep(arrived)
            store.keep(arrived)
        assert content(store, SHA256) == DATA

    def test_many_are_kept_together_the_same_twice_too(self, store: BlobStore) -> None:
        some = [secrets.token_bytes(length) for length in (0, 1, self.large, *range(40), 39)]
        some.append(some[-1])
        with ExitStack() as stack:
            arrivals = [stack.enter_context(store.receive(io.BytesIO(data))) for data in some]
            assert not list(store.entries())
            store.keep(*arrivals)
            store.delete(arrivals[5].sha256)
            store.keep(*arrivals)
        store.keep()
        assert [content(store, one.sha256) for one in arrivals] == some
        assert {entry.sha256 for entry in store.entries()} == {one.sha256 for one in arrivals}
        assert not list(store.leftovers())

    def test_the_same_bytes_twice_are_kept_once(self, store: BlobStore) -> None:
        put(store, DATA)
        put(store, DATA, sha256=SHA256, size_bytes=len(DATA))
        (entry,) = store.entries()
        assert (entry.sha256, entry.size_bytes) == (SHA256, len(DATA))
        assert abs(entry.modified - datetime.now(UTC)) < timedelta(minutes=1)
        assert not list(store.leftovers())

    @pytest.mark.parametrize(
        ("announced", "code"),
        [
            ({"sha256": "0" * 64}, "digest_mismatch"),
            ({"size_bytes": len(DATA) + 1}, "size_mismatch"),
            ({"size_bytes": len(DATA) - 1}, "size_mismatch"),
            ({"limit_bytes": len(DATA) - 1}, "body_too_large"),
            ({"limit_bytes": 5, "size_bytes": len(DATA)}, "body_too_large"),
        ],
    )
    def test_bytes_that_are_not_as_announced_leave_nothing_behind(
        self, store: BlobStore, announced: dict[str, Any], code: str
    ) -> None:
        with pytest.raises((Invalid, TooLarge)) as caught:
            put(store, DATA, **announced)
        assert caught.value.code == code
        assert is_empty(store)

    def test_bytes_already_here_must_still_be_shown(self, store: BlobStore) -> None:
        put(store, DATA)
        with pytest.raises(Invalid):
            put(store, b"I only know the digest", sha256=SHA256)

    def test_a_body_beyond_the_limit_is_not_read_to_its_end(self, store: BlobStore) -> None:
        endless = Endless()
        with pytest.raises(TooLarge), store.receive(endless, limit_bytes=3 << 20):
            pass
        assert endless.given <= 5 << 20
        assert is_empty(store)

    def test_a_stream_that_breaks_leaves_nothing_behind(self, store: BlobStore) -> None:
        for streams in ([Broken()], [io.BytesIO(DATA), io.BytesIO(b"other"), Broken()]):
            with pytest.raises(ConnectionResetError):
                put_all(store, streams)
            assert is_empty(store)

    def test_what_is_not_there_is_not_found_and_forgetting_it_is_no_error(
        self, store: BlobStore
    ) -> None:
        store.delete(SHA256)
        assert store.size(SHA256) is None
        for look in (store.open, store.local):
            with pytest.raises(NotFound) as caught:
                look(SHA256)
            assert caught.value.code == "blob_not_found"
        put(store, DATA)
        store.delete(SHA256)
        assert not store.exists(SHA256)

    @pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 64 + "\n"])
    def test_nothing_but_a_digest_names_bytes(self, store: BlobStore, name: str) -> None:
        for look in (store.exists, store.delete, store.open, store.size, store.local):
            with pytest.raises(ValueError, match="not a SHA-256"):
                look(name)

    def test_many_threads_may_store_the_same_bytes_at_once(self, store: BlobStore) -> None:
        failures: list[Exception] = []

        def work() -> None:
            try:
                for _ in range(4):
                    put(store, DATA, sha256=SHA256, size_bytes=len(DATA))
                    with store.open(SHA256) as stream:
                        assert sha256_of(stream) == SHA256
            except Exception as failure:  # noqa: BLE001 (told to the test's own thread)
                failures.append(failure)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert [entry.sha256 for entry in store.entries()] == [SHA256]
        assert not list(store.leftovers())

    def test_parts_in_any_order_make_the_whole(self, store: BlobStore) -> None:
        data = secrets.token_bytes(self.large)
        sha256 = hashlib.sha256(data).hexdigest()
        upload = PartUpload(**asdict(store.parts_begin(len(data))))
        assert upload.count > 1
        store.part_put(upload, 1, io.BytesIO(bytes(upload.part_bytes)))
        etags = etags_of(store, upload, data)
        assert all(etag and '"' not in etag for etag in etags.values())
        assert [left.size_bytes > 0 for left in store.leftovers()] == [True]
        with store.parts_join(upload, etags, sha256=sha256) as arrived:
            assert not store.exists(sha256)
            store.keep(arrived)
        assert (arrived.size_bytes, arrived.git_oid) == (len(data), blob_oid(data))
        assert content(store, sha256) == data
        assert not list(store.leftovers())
        with pytest.raises(NotFound) as caught, store.parts_join(upload, etags, sha256=sha256):
            pass
        assert caught.value.code == "upload_not_found"

    def test_a_whole_of_another_digest_leaves_nothing_behind(self, store: BlobStore) -> None:
        data = secrets.token_bytes(self.large)
        upload = store.parts_begin(len(data))
        etags = etags_of(store, upload, data)
        with pytest.raises(Invalid) as caught, store.parts_join(upload, etags, sha256=SHA256):
            pass
        assert caught.value.code == "digest_mismatch"
        assert is_empty(store)

    def test_parts_that_are_not_as_agreed_are_refused(self, store: BlobStore) -> None:
        upload = store.parts_begin(self.large)
        last = upload.count
        for number, length, code in [
            (0, 5, "invalid_request"),
            (last + 1, 5, "invalid_request"),
            (1, upload.part_bytes + 1, "size_mismatch"),
            (last, upload.length_of(last) - 1, "size_mismatch"),
        ]:
            with pytest.raises(Invalid) as caught:
                store.part_put(upload, number, io.BytesIO(bytes(length)))
            assert caught.value.code == code
        with pytest.raises(Invalid) as caught, store.parts_join(upload, {1: "x"}, sha256=SHA256):
            pass
        assert caught.value.code == "invalid_request"
        store.parts_abort(upload)
        store.parts_abort(upload)
        assert is_empty(store)
        with pytest.raises(NotFound):
            store.part_put(upload, 1, io.BytesIO(bytes(upload.part_bytes)))

    def test_an_upload_nobody_began_is_not_found(self, store: BlobStore) -> None:
        for key in ("0" * 32, "../../etc/passwd", ""):
            upload = PartUpload(key, 10, 10)
            with pytest.raises(NotFound):
                store.part_put(upload, 1, io.BytesIO(b"0123456789"))
            with pytest.raises(NotFound), store.parts_join(upload, {1: "x"}, sha256=SHA256):
                pass

    def test_an_empty_file_may_come_in_parts(self, store: BlobStore) -> None:
        upload = store.parts_begin(0)
        etags = etags_of(store, upload, b"")
        with store.parts_join(upload, etags, sha256=hashlib.sha256().hexdigest()) as arrived:
            store.keep(arrived)
        assert content(store, arrived.sha256) == b""

    def test_leftovers_can_be_discarded(self, store: BlobStore) -> None:
        upload = store.parts_begin(self.large)
        store.part_put(upload, 1, io.BytesIO(bytes(upload.part_bytes)))
        (leftover,) = store.leftovers()
        assert abs(leftover.modified - datetime.now(UTC)) < timedelta(minutes=1)
        store.discard(leftover)
        store.discard(leftover)
        assert is_empty(store)
