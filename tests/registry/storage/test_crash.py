"""A process that is killed while it stores blobs leaves only whole ones, and all it promised.

A helper process forks a worker for each round; the worker stores random bytes and says
``<digest>`` for each that it was told is kept; the test kills it (SIGKILL) at a random moment.
"""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.storage.filesystem import FolderStore
from registry.tables import Blob
from tests.factories import database_url

KILLS = 30
HELPER = """
import io, os, secrets, sys
import django
django.setup()
from django.db import connections
from registry.services.blob import blob_store
sys.stdout.write("ready\\n"); sys.stdout.flush()
for _ in sys.stdin:
    worker = os.fork()
    if worker == 0:
        while True:
            data = secrets.token_bytes(1 + secrets.randbelow(3_000_000))
            blob = blob_store(actor=None, stream=io.BytesIO(data))
            os.write(1, (blob.sha256 + "\\n").encode())
    os.write(1, f"{worker}\\n".encode())
    os.waitpid(worker, 0)
    os.write(1, b"dead\\n")
"""


@contextmanager
def helper(data_dir: Path) -> Iterator["subprocess.Popen[str]"]:
    environment = os.environ | {
        "DJANGO_SETTINGS_MODULE": "hub.settings.development",
        "HPCFAIR_DATA": str(data_dir),
        "DATABASE_URL": database_url(),
    }
    command = [sys.executable, "-c", HELPER]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill_once(process: "subprocess.Popen[str]", after_s: float) -> list[str]:
    """Kill a worker so long after its first blob; the digests it said were kept."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    # The worker's number comes from the helper, its digests from itself: in any order.
    said = [process.stdout.readline().strip(), process.stdout.readline().strip()]
    number = min(said, key=len)
    said.remove(number)
    time.sleep(after_s)
    os.kill(int(number), signal.SIGKILL)
    while (line := process.stdout.readline()) != "dead\n":
        said.append(line.strip())
    return said


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_killed_uploads_are_whole_or_not_there(data_dir: Path) -> None:
    chance = random.Random(0)  # noqa: S311 (it only spreads the kills)
    promised: list[str] = []
    with helper(data_dir) as process:
        for _ in range(KILLS):
            promised += kill_once(process, chance.uniform(0.0, 0.1))
    store = FolderStore(data_dir / "blobs")
    visible = {entry.sha256 for entry in store.entries()}
    for sha256 in visible:
        assert hashlib.sha256(store.path(sha256).read_bytes()).hexdigest() == sha256
    rows = {blob.sha256: blob.size_bytes for blob in Blob.objects.all()}
    assert set(promised) <= set(rows) <= visible
    for sha256, size_bytes in rows.items():
        assert store.path(sha256).stat().st_size == size_bytes
    # The kills must have hit: work was done, and some of it was cut off on its way.
    assert len(promised) >= KILLS
    assert list(store.leftovers())
