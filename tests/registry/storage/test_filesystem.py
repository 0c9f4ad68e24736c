"""Blobs in a folder: whole or not there, durable, named by their digest alone."""

import errno
import hashlib
import io
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.errors import Invalid, NotFound, TooLarge, Unavailable
from registry.storage.digest import place, sha256_of
from registry.storage.filesystem import ABANDONED_S, FolderStore
from registry.storage.git import blob_oid

DATA = b"some bytes worth keeping" * 1000
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "blobs")


def files_in(store: FolderStore) -> list[Path]:
    return [path for path in store.root.rglob("*") if path.is_file()]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3000), told=st.sampled_from([True, False]))
def test_bytes_come_back_as_they_went_in(store: FolderStore, data: bytes, *, told: bool) -> None:
    stored = store.put(io.BytesIO(data), size_bytes=len(data) if told else None)
    assert stored.sha256 == hashlib.sha256(data).hexdigest()
    assert stored.size_bytes == len(data)
    assert stored.git_oid == blob_oid(data)
    with store.open(stored.sha256) as stream:
        assert stream.read() == data
    assert store.exists(stored.sha256)


def test_the_same_bytes_twice_are_kept_once(store: FolderStore) -> None:
    assert store.put(io.BytesIO(DATA)) == store.put(io.BytesIO(DATA), sha256=SHA256)
    assert files_in(store) == [store.path(SHA256)]
    assert list(store.digests()) == [SHA256]


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
    store: FolderStore, announced: dict[str, object], code: str
) -> None:
    with pytest.raises((Invalid, TooLarge)) as caught:
        store.put(io.BytesIO(DATA), **announced)  # type: ignore[arg-type]
    assert caught.value.code == code
    assert not files_in(store)


def test_bytes_already_here_must_still_be_shown(store: FolderStore) -> None:
    store.put(io.BytesIO(DATA))
    with pytest.raises(Invalid):
        store.put(io.BytesIO(b"I only know the digest"), sha256=SHA256)


def test_a_body_beyond_the_limit_is_not_read_to_its_end(store: FolderStore) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def read(self, size: int = -1) -> bytes:
            self.given += size
            return b"x" * size

    endless = Endless()
    with pytest.raises(TooLarge):
        store.put(endless, limit_bytes=3 << 20)
    assert endless.given <= 5 << 20


def test_a_stream_that_breaks_leaves_nothing_behind(store: FolderStore) -> None:
    class Broken(io.RawIOBase):
        def read(self, _: int = -1) -> bytes:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        store.put(Broken())
    assert not files_in(store)


def test_a_damaged_file_is_mended_by_the_next_upload(store: FolderStore) -> None:
    path = store.path(SHA256)
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA[:10])
    store.put(io.BytesIO(DATA))
    assert path.read_bytes() == DATA


def test_a_stored_file_cannot_be_written_to(store: FolderStore) -> None:
    store.put(io.BytesIO(DATA))
    assert stat.S_IMODE(store.path(SHA256).stat().st_mode) & 0o222 == 0


def test_what_is_not_there_is_not_found_and_forgetting_it_is_no_error(store: FolderStore) -> None:
    store.delete(SHA256)
    with pytest.raises(NotFound):
        store.open(SHA256)
    store.put(io.BytesIO(DATA))
    store.delete(SHA256)
    assert not store.exists(SHA256)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_nothing_but_a_digest_becomes_a_path(name: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        place(name)


def test_a_full_disk_is_reported_and_leaves_nothing_behind(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable) as caught:
        store.put(io.BytesIO(DATA))
    assert caught.value.code == "storage_full"
    assert not files_in(store)


FILL = """
import io, sys
from pathlib import Path
from registry.errors import Unavailable
from registry.storage.filesystem import FolderStore
store = FolderStore(Path(sys.argv[1]))
kept = store.put(io.BytesIO(b"a" * 200_000))
try:
    store.put(io.BytesIO(b"b" * 4_000_000))
except Unavailable as error:
    names = sorted(p.name for p in store.root.rglob("*") if p.is_file())
    assert names == [kept.sha256], names
    print(error.code)
"""


def test_a_file_system_that_is_truly_full_is_reported(tmp_path: Path) -> None:
    def in_small_file_system(command: str) -> "subprocess.CompletedProcess[str]":
        shell = f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && {command}"
        inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", shell, FILL]
        return subprocess.run(inside, check=False, capture_output=True, text=True)

    if in_small_file_system("true").returncode:
        pytest.skip("this machine lets nobody mount a small file system")
    done = in_small_file_system(f'exec {sys.executable} -c "$0" {tmp_path}')
    assert done.stdout == "storage_full\n", done.stderr


def test_what_a_dead_process_left_is_cleared_and_what_arrives_now_is_not(tmp_path: Path) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    old, new = incoming / "old", incoming / "new"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    long_ago = time.time() - ABANDONED_S - 60
    os.utime(old, (long_ago, long_ago))
    FolderStore(tmp_path)
    assert list(incoming.iterdir()) == [new]


def test_many_threads_may_store_the_same_bytes_at_once(store: FolderStore) -> None:
    failures: list[Exception] = []

    def put() -> None:
        try:
            for _ in range(10):
                store.put(io.BytesIO(DATA), sha256=SHA256, size_bytes=len(DATA))
                with store.open(SHA256) as stream:
                    assert sha256_of(stream) == SHA256
        except Exception as failure:  # noqa: BLE001 (told to the test's own thread)
            failures.append(failure)

    threads = [threading.Thread(target=put) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert files_in(store) == [store.path(SHA256)]
