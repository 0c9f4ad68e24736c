"""A hub too large to build its index within a request: searches are refused, never blocked."""

import itertools
import shutil
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from registry.errors import Invalid, Unavailable
from registry.search import background, generations, index, scale, snapshot
from registry.tables import MLModel, OutboxEntry
from tests.registry.search import rows
from tests.registry.search.test_index import indexed

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("data_dir")]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Commands that were started in the background, on a hub of one model that counts as large."""
    commands: list[tuple[str, ...]] = []

    class Process:
        def __init__(self, command: tuple[str, ...], **_: Any) -> None:
            commands.append(command)

        def poll(self) -> None:
            return None

    monkeypatch.setattr(scale, "SMALL", 0)
    monkeypatch.setattr(background, "_process", None)
    monkeypatch.setattr(background, "_started_at", 0.0)
    monkeypatch.setattr(background, "_interval_s", 5.0)
    monkeypatch.setattr(subprocess, "Popen", Process)
    rows.mlmodel("lab/a")
    return commands


def test_a_search_without_an_index_is_refused_and_one_process_builds(
    started: list[tuple[str, ...]],
) -> None:
    for _ in range(3):
        with pytest.raises(Unavailable) as refusal:
            indexed()
        assert refusal.value.code == "index_busy"
    (command,) = started
    assert command[-3:] == ("django", "reindex", "--catch-up")


def test_a_process_that_fails_is_started_less_and_less_often(
    started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, statuses = [1.0], [1] * 8
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(subprocess.Popen, "poll", lambda _: statuses.pop() if statuses else 0)
    starts = []
    while now[0] < 3600:
        before = len(started)
        background.start()
        starts += [now[0]] * (len(started) - before)
        now[0] += 1
    waits = [second - first for first, second in itertools.pairwise(starts)]
    assert waits[:8] == [10, 20, 40, 80, 160, 300, 300, 300]
    assert waits[-1] == 5


def test_pages_and_probe_answer_at_once_and_say_when_to_come_again(
    client: Client, started: list[tuple[str, ...]]
) -> None:
    for address in ("/models", "/api/v1/models"):
        response = client.get(address)
        assert (response.status_code, response["Retry-After"]) == (503, "5"), address
    assert client.get("/readyz").json()["checks"]["index"] == "Unavailable"
    index.catch_up(wait_s=1, budget_s=60)
    assert client.get("/readyz").json()["checks"]["index"] == "ok"
    assert b"lab/a" in client.get("/models").content
    assert len(started) == 1


def test_what_does_not_fit_into_a_request_is_indexed_in_the_background(
    started: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    index.catch_up(wait_s=1, budget_s=60)
    rows.mlmodel("lab/b")
    monkeypatch.setattr(index, "BUDGET_S", 0)
    assert indexed() == ["lab/a"]
    assert len(started) == 1


def test_a_damaged_index_of_a_large_hub_is_built_in_the_background(
    started: list[tuple[str, ...]],
) -> None:
    index.catch_up(wait_s=1, budget_s=60)
    for path in generations.folder().rglob("*.term"):
        path.unlink()
    generations._opened.clear()
    with pytest.raises(Unavailable):
        indexed()
    assert len(started) == 1


def test_a_host_takes_up_a_snapshot_of_another(
    data_dir: Path, tmp_path: Path, settings: Any, started: list[tuple[str, ...]]
) -> None:
    index.catch_up(wait_s=1, budget_s=60)
    snapshot.save(tmp_path / "index.tar")
    rows.mlmodel("lab/b")
    settings.INDEX_DIR = str(tmp_path / "other")
    with pytest.raises(Unavailable):
        indexed()
    snapshot.take_up(tmp_path / "index.tar")
    assert indexed() == ["lab/a", "lab/b"]
    assert len(list((tmp_path / "other").glob("v*"))) == 1
    assert not list((tmp_path / "other").glob("snapshot-*"))


def test_a_snapshot_of_another_database_is_refused(data_dir: Path, tmp_path: Path) -> None:
    rows.mlmodel("lab/a")
    indexed()
    snapshot.save(tmp_path / "index.tar")
    shutil.rmtree(generations.folder())
    OutboxEntry.objects.all().delete()
    with pytest.raises(Invalid):
        snapshot.take_up(tmp_path / "index.tar")
    (tmp_path / "text.tar").write_text("no archive")
    with pytest.raises(Invalid):
        snapshot.take_up(tmp_path / "text.tar")
    with pytest.raises(Unavailable):
        snapshot.save(tmp_path / "none.tar")
    assert MLModel.objects.count() == 1


@pytest.mark.parametrize("fault", ["outside", "link"])
def test_a_snapshot_writes_nothing_but_files_of_its_own(
    data_dir: Path, tmp_path: Path, fault: str
) -> None:
    rows.mlmodel("lab/a")
    indexed()
    snapshot.save(tmp_path / "index.tar")
    member = tarfile.TarInfo("../../../outside" if fault == "outside" else "link")
    if fault == "link":
        member.type, member.linkname = tarfile.SYMTYPE, str(tmp_path)
    with tarfile.open(tmp_path / "index.tar", "a") as archive:
        archive.addfile(member)
    with pytest.raises(Invalid, match=f"{member.name} is no file of an index"):
        snapshot.take_up(tmp_path / "index.tar")
    assert not list(tmp_path.rglob("outside"))
