"""Blobs in a folder: the contract of every store, and what only a folder does."""

import errno
import hashlib
import io
import itertools
import os
import secrets
import stat
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from registry.errors import NotFound, Unavailable
from registry.storage.digest import place
from registry.storage.filesystem import FolderStore
from tests.programs import needs
from tests.registry.storage.contract import (
    DATA,
    SHA256,
    StoreContract,
    content,
    etags_of,
    put,
    put_all,
)


@pytest.fixture
def store(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "blobs", part_bytes=70_000)


def files_in(store: FolderStore) -> list[Path]:
    return [path for path in store.root.rglob("*") if path.is_file()]


class TestFolderStore(StoreContract):
    """The contract, met by a folder."""


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=3000))
def test_any_bytes_come_back(store: FolderStore, data: bytes) -> None:
    assert content(store, put(store, data).sha256) == data


def test_a_damaged_file_is_mended_by_the_next_upload(store: FolderStore) -> None:
    path = store.path(SHA256)
    path.parent.mkdir(parents=True)
    for damaged in (DATA[:10], b"X" + DATA[1:]):
        path.unlink(missing_ok=True)
        path.write_bytes(damaged)
        put(store, DATA)
        assert path.read_bytes() == DATA


def test_a_stored_file_cannot_be_written_to(store: FolderStore) -> None:
    put(store, DATA)
    assert stat.S_IMODE(store.path(SHA256).stat().st_mode) & 0o222 == 0


def test_only_blobs_at_their_place_are_listed(store: FolderStore) -> None:
    put(store, DATA)
    stray = store.root / "00" / "00" / SHA256
    stray.parent.mkdir(parents=True)
    stray.write_bytes(DATA)
    assert [entry.sha256 for entry in store.entries()] == [SHA256]


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "0" * 63, "0" * 64 + "\n"])
def test_nothing_but_a_digest_becomes_a_path(name: str) -> None:
    with pytest.raises(ValueError, match="not a SHA-256"):
        place(name)


def test_where_files_have_one_name_only_bytes_are_copied(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    put(store, DATA)
    assert content(store, SHA256) == DATA
    assert files_in(store) == [store.path(SHA256)]


def test_a_part_that_is_still_being_sent_cannot_change_what_was_joined(store: FolderStore) -> None:
    data = secrets.token_bytes(100_000)
    upload = store.parts_begin(len(data))
    etags = etags_of(store, upload, data)
    opened, joined = threading.Event(), threading.Event()

    class Late:
        def read(self, size: int, /) -> bytes:  # noqa: ARG002
            opened.set()
            assert joined.wait(120)
            return b"!" * 10

    refused: list[Exception] = []

    def send() -> None:
        try:
            store.part_put(upload, 1, Late())
        except NotFound as error:
            refused.append(error)

    sender = threading.Thread(target=send)
    sender.start()
    assert opened.wait(120)
    sha256 = hashlib.sha256(data).hexdigest()
    with store.parts_join(upload, etags, sha256=sha256) as arrived:
        store.keep(arrived)
    joined.set()
    sender.join()
    assert refused
    assert content(store, sha256) == data


def test_a_full_disk_is_reported_and_leaves_nothing_behind(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable) as caught:
        put(store, DATA)
    assert caught.value.code == "storage_full"
    assert not files_in(store)


FILL = """
import io, sys
from pathlib import Path
from registry.errors import Unavailable
from registry.storage.filesystem import FolderStore
store = FolderStore(Path(sys.argv[1]))
def put(data):
    with store.receive(io.BytesIO(data)) as arrived:
        store.keep(arrived)
    return arrived.sha256
kept = put(b"a" * 200_000)
try:
    put(b"b" * 4_000_000)
except Unavailable as error:
    names = sorted(p.name for p in store.root.rglob("*") if p.is_file())
    assert names == [kept], names
    print(error.code)
"""


@needs("mount")
def test_a_file_system_that_is_truly_full_is_reported(tmp_path: Path) -> None:
    def in_small_file_system(command: str) -> "subprocess.CompletedProcess[str]":
        shell = f"mount -t tmpfs -o size=1m tmpfs {tmp_path} && {command}"
        inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", shell, FILL]
        return subprocess.run(inside, check=False, capture_output=True, text=True)

    done = in_small_file_system(f'exec {sys.executable} -c "$0" {tmp_path}')
    assert done.stdout == "storage_full\n", done.stderr


@pytest.fixture
def events(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is flushed, folders by their place, and when a blob is given its name."""
    seen: list[str] = []
    real_fsync, real_replace = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        real_fsync(descriptor)
        seen.append(str(path.relative_to(store.root)) if is_folder else "file")

    def replace(self: Path, target: Path) -> Path:
        seen.append("name")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", replace)
    return seen


def alike(count: int, folder: str) -> list[bytes]:
    """Different bytes that lie in the same folder."""
    some = (str(number).encode() for number in itertools.count())
    fitting = (
        data for data in some if place(hashlib.sha256(data).hexdigest()).match(f"{folder}/*")
    )
    return list(itertools.islice(fitting, count))


def test_bytes_are_durable_before_anything_names_them(
    store: FolderStore, events: list[str]
) -> None:
    folder = str(place(SHA256).parent)
    with store.receive(io.BytesIO(DATA)) as arrived:
        assert not events
        store.keep(arrived)
        assert events[:2] == ["file", "name"]
        assert sorted(events[2:]) == sorted([".", folder[:2], folder])
        events.clear()
        store.keep(arrived)
    assert not events


def test_of_many_files_each_is_durable_before_any_is_named_and_each_folder_once(
    store: FolderStore, events: list[str]
) -> None:
    some = [*alike(3, "ab/?c"), *alike(2, "cd/ef")]
    with ExitStack() as stack:
        arrivals = [stack.enter_context(store.receive(io.BytesIO(data))) for data in some]
        store.keep(*arrivals)
    folders = {str(place(one.sha256).parent) for one in arrivals}
    assert events[:10] == 5 * ["file"] + 5 * ["name"]
    assert sorted(events[10:]) == sorted({".", "ab", "cd"} | folders)


def test_a_folder_is_flushed_again_only_for_what_is_new_in_it(
    store: FolderStore, events: list[str]
) -> None:
    first, second = alike(2, "ab/cd")
    put(store, first)
    events.clear()
    put(store, second)
    assert events == ["file", "name", "ab/cd"]
    events.clear()
    put(store, *alike(1, "ab/ce"))
    assert sorted(events[2:]) == ["ab", "ab/ce"]


def test_folders_that_somebody_else_made_are_not_taken_for_durable(
    store: FolderStore, events: list[str]
) -> None:
    (store.root / "ab/cd").mkdir(parents=True)
    put(store, *alike(1, "ab/cd"))
    assert sorted(events[2:]) == [".", "ab", "ab/cd"]


def test_folders_that_could_not_be_flushed_are_not_taken_for_durable(
    store: FolderStore, events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = alike(2, "ab/cd")
    fsync = os.fsync

    def broken(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", broken)
        with pytest.raises(OSError, match="Input/output"):
            put(store, first)
    events.clear()
    put(store, second)
    assert sorted(events[2:]) == [".", "ab", "ab/cd"]


def test_a_disk_that_fails_among_many_files_names_none_of_them(
    store: FolderStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync, left = os.fsync, itertools.count()

    def full(descriptor: int) -> None:
        if next(left) == 7:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Unavailable) as caught:
        put_all(store, [io.BytesIO(secrets.token_bytes(99)) for _ in range(20)])
    assert caught.value.code == "storage_full"
    assert not files_in(store)
