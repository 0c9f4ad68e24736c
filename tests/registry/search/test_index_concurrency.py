"""One writer, many readers: threads and processes at once, and death at any moment."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from django.db import connection

from registry.search import generations, index
from registry.search.outbox import Cursor
from registry.tables import MLModel
from tests.factories import database_url
from tests.registry.search import rows
from tests.registry.search.test_index import forget_open_files, indexed, look

pytestmark = [
    pytest.mark.slow,
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("data_dir"),
]

ROOT = Path(__file__).resolve().parents[3]
# Tells of every document it makes, so that the test knows when it is in the middle of its work.
CHILD = """
import os, signal
import django
django.setup()
from registry.search import index
def telling(make):
    def told(*uuids, **options):
        for count, document in enumerate(make(*uuids, **options), 1):
            print(document["by_name"], flush=True)
            if count == int(os.environ["HOLD_AT"]):
                signal.pause()
            yield document
    return told
index.BATCH = 7
index.documents_of = telling(index.documents_of)
index.all_documents = telling(index.all_documents)
index.catch_up(wait_s=60, budget_s=60)
"""


def start_child(data_dir: Path, *, hold_at: int = 0) -> "subprocess.Popen[str]":
    """A process that lets the index catch up in batches of 7, or stops for good in the middle."""
    environment = {
        "HOLD_AT": str(hold_at),
        "DJANGO_SETTINGS_MODULE": "hub.settings.development",
        "DATABASE_URL": database_url(),
        "HPCFAIR_DATA": str(data_dir),
    }
    return subprocess.Popen(
        [sys.executable, "-c", CHILD],
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        text=True,
    )


def change_all() -> list[str]:
    """Rename every MLModel; the new full names, sorted."""
    for row in MLModel.objects.order_by("name"):
        MLModel.objects.filter(pk=row.pk).update(name=f"x{row.name}")
        rows.announce(row)
    return sorted(rows.names(list(MLModel.objects.select_related("namespace"))))


def kill_after(child: "subprocess.Popen[str]", documents: int, delay_s: float) -> None:
    """SIGKILL, some time after it made that many documents."""
    assert child.stdout
    for _ in range(documents):
        assert child.stdout.readline()
    time.sleep(delay_s)
    child.kill()
    child.wait()
    child.stdout.close()


def standing() -> tuple[Cursor, list[str]]:
    """The cursor and the names the index holds now, without catching up."""
    forget_open_files()
    cursor = index._cursor()
    assert cursor is not None
    return cursor, look(generations.opened(generations.current()).searcher())


def test_a_process_killed_while_indexing_leaves_whole_commits(data_dir: Path) -> None:
    for number in range(40):
        rows.mlmodel(f"lab/n{number:02}")
    before = indexed()
    for documents, delay_s in ((3, 0.0), (9, 0.005), (28, 0.02)):
        old, _ = standing()
        after = change_all()
        kill_after(start_child(data_dir), documents, delay_s)
        cursor, names = standing()
        # All names change in one order, the order of their entries: those that the cursor says
        # are read stand under the new one, all others under the old one.
        read = cursor.last_id - old.last_id
        assert names == sorted([*after[:read], *before[read:]])
        assert read % 7 == 0 or read == 40
        assert indexed() == after
        before = after


def test_a_process_killed_while_building_costs_nothing(data_dir: Path) -> None:
    for number in range(20):
        rows.mlmodel(f"lab/n{number:02}")
    kill_after(start_child(data_dir, hold_at=9), 9, 0.0)
    assert not generations.current()
    assert len(indexed()) == 20
    assert len([path for path in generations.folder().iterdir() if path.is_dir()]) == 1


def test_several_processes_make_one_index(data_dir: Path) -> None:
    for number in range(30):
        rows.mlmodel(f"lab/n{number:02}")
    children = [start_child(data_dir) for _ in range(3)]
    assert all(child.wait() == 0 for child in children)
    for child in children:
        assert child.stdout
        child.stdout.close()
    assert len(indexed()) == 30
    names = change_all()
    children = [start_child(data_dir) for _ in range(3)]
    told = [name for child in children for name in child.communicate()[0].splitlines()]
    assert sorted(told) == names
    assert indexed() == names


def test_every_thread_finds_what_was_committed_before_it_looked(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # However slow the machine: no search gives up waiting for the one that indexes.
    monkeypatch.setattr(index, "WAIT_S", 60)
    rows.mlmodel("lab/n00")
    failures: list[object] = []
    committed, done = 1, threading.Event()

    def look() -> None:
        try:
            while not done.is_set():
                expected = committed
                found = indexed()
                if len(found) < expected or len(found) != len(set(found)):
                    failures.append((expected, found))
        except Exception as error:  # noqa: BLE001 - a thread's failure must reach the test
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=look) for _ in range(6)]
    for thread in threads:
        thread.start()
    for number in range(1, 15):
        rows.mlmodel(f"lab/n{number:02}")
        committed = number + 1
    done.set()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(indexed()) == committed
