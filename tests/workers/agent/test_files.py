"""Files of jobs: fetched once, verified always, sent in parts that are not sent twice."""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from hpcfair.retry import Retry
from hpcfair.tickets import FileTicket
from tests.workers.agent.conftest import TOKEN, make_ticket
from tests.workers.agent.scriptedhub import Answer, Request, ScriptedHub, problem
from workers.agent import files as module
from workers.agent import outbox as outbox_module
from workers.agent.connection import HubConnection
from workers.agent.files import FileStore, FileUpload
from workers.agent.heartbeat import HeldJob
from workers.agent.journal import Journal
from workers.agent.outbox import Outbox
from workers.agent.stop import Stop
from workers.device.errors import HubError

DATA = b"weights" * 1000
DIGEST = sha256(DATA).hexdigest()
TICKET = FileTicket("net/model.onnx", DIGEST, len(DATA))
PART = 4096


@pytest.fixture(autouse=True)
def retries_are_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_module, "RETRY", Retry(base_s=0.02, cap_s=0.02))


@pytest.fixture
def outbox(hub: ScriptedHub, journal: Journal, stop: Stop) -> Iterator[Outbox]:
    journal.begin(make_ticket())
    with HubConnection(hub.url, TOKEN) as connection:
        yield Outbox(connection, journal, stop, HeldJob("0b8e", 3, 90.0), stop.check)


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    return FileStore(tmp_path / "cache", 10**9)


def test_a_file_is_fetched_once(
    hub: ScriptedHub, outbox: Outbox, store: FileStore, tmp_path: Path
) -> None:
    hub.answer = lambda _: (200, DATA)
    for name in ("one", "two"):
        store.fetch(outbox, "0b8e", [TICKET], tmp_path / name)
        path = tmp_path / name / "net" / "model.onnx"
        assert path.read_bytes() == DATA
        # Networks are changed in place by some compilers.
        path.write_bytes(b"changed")
    assert hub.paths() == [f"jobs/0b8e/blobs/{DIGEST}"]
    assert store.digests() == [DIGEST]


def test_a_download_with_a_wrong_digest_is_refused(
    hub: ScriptedHub, outbox: Outbox, store: FileStore, tmp_path: Path
) -> None:
    hub.answer = lambda _: (200, DATA[::-1])
    with pytest.raises(HubError) as refusal:
        store.fetch(outbox, "0b8e", [TICKET], tmp_path / "job")
    assert refusal.value.code == "digest_mismatch"
    assert not (tmp_path / "job" / "net" / "model.onnx").exists()
    assert store.digests() == []


def test_a_stored_file_that_was_damaged_is_fetched_again(
    hub: ScriptedHub, outbox: Outbox, store: FileStore, tmp_path: Path
) -> None:
    hub.answer = lambda _: (200, DATA)
    store.fetch(outbox, "0b8e", [TICKET], tmp_path / "one")
    (stored,) = (tmp_path / "cache" / "blobs").glob("*/*")
    stored.chmod(0o644)
    stored.write_bytes(b"x" + DATA[1:])
    store.fetch(outbox, "0b8e", [TICKET], tmp_path / "two")
    assert (tmp_path / "two" / "net" / "model.onnx").read_bytes() == DATA
    assert len(hub.requests) == 2


@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "a/../../outside"])
def test_a_hub_cannot_write_outside_of_the_folder(
    hub: ScriptedHub, outbox: Outbox, store: FileStore, tmp_path: Path, path: str
) -> None:
    hub.answer = lambda _: (200, DATA)
    with pytest.raises(HubError):
        store.fetch(outbox, "0b8e", [FileTicket(path, DIGEST, len(DATA))], tmp_path / "job")
    assert not (tmp_path / "outside").exists()


def test_the_least_recently_used_files_go_first(tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "blobs" / "aa"
    folder.mkdir(parents=True)
    for age, name in enumerate("abc"):
        (folder / name).write_bytes(bytes(100))
        os.utime(folder / name, (1000 - age, 1000 - age))
    store = FileStore(tmp_path / "cache", 200)
    assert store.digests() == ["a", "b", "c"]
    store.trim()
    assert store.digests() == ["a", "b"]


class PartsHub:
    """Takes parts of :data:`PART` bytes, as the hub does."""

    def __init__(self) -> None:
        self.parts: dict[tuple[int, int], bytes] = {}
        self.sent: list[str] = []
        self.breaks_after = 10**9

    def __call__(self, request: Request) -> Answer:
        assert request.headers["x-fence"] == "3"
        extent = request.headers["content-range"].removeprefix("bytes ")
        bounds, _, total = extent.partition("/")
        if bounds != "*":
            self.sent.append(bounds)
            if len(self.sent) > self.breaks_after:
                return problem(503, "storage_unavailable")
            first, last = map(int, bounds.split("-"))
            self.parts[first, last] = request.content
        is_whole = sum(map(len, self.parts.values())) == int(total)
        received = [list(bounds) for bounds in sorted(self.parts)]
        return 201 if is_whole else 202, {"part_bytes": PART, "received": received}


def test_only_missing_parts_are_sent_after_an_interruption(
    hub: ScriptedHub,
    outbox: Outbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_SMALL_BYTES", 100)
    path = tmp_path / "build"
    path.write_bytes(os.urandom(3 * PART + 5))
    hub.answer = script = PartsHub()
    script.parts[PART, 2 * PART - 1] = path.read_bytes()[PART : 2 * PART]
    upload = FileUpload(outbox, "0b8e", 3, path)
    upload.send()
    assert script.sent == ["0-4095", "8192-12287", "12288-12292"]
    assert b"".join(data for _, data in sorted(script.parts.items())) == path.read_bytes()
    assert set(hub.paths()) == {f"jobs/0b8e/blobs/{upload.sha256}"}
    upload.send()
    assert len(script.sent) == 3


def test_a_part_that_fails_is_sent_again(
    hub: ScriptedHub, outbox: Outbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_SMALL_BYTES", 100)
    path = tmp_path / "build"
    path.write_bytes(os.urandom(2 * PART))
    script = PartsHub()
    broken: list[Answer] = [None, problem(503, "storage_unavailable")]
    hub.answer = lambda request: (
        broken.pop() if broken and len(hub.requests) > 1 else script(request)
    )
    FileUpload(outbox, "0b8e", 3, path).send()
    assert script.sent == ["0-4095", "4096-8191"]
