"""Locks between all processes of a hub, on all of its hosts.

On PostgreSQL they are advisory locks of the connection, which the server releases when the process
ends or its host fails. A hub on SQLite has one host; there the kernel releases a lock of a file.
"""

import fcntl
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from django.conf import settings
from django.db import connection

# A statement that waits would be cut off by a time limit of statements.
_POLL_S = 0.2
# Lock files are not deleted, so their number is limited; names may share one.
_FILES = 4096


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the lock ``name`` during the block; waits until it is free.

    Not reentrant. Locks of different names may be one lock, so do not nest them.
    """
    with attempt(name) as locked:
        if locked:
            yield
            return
    while True:
        time.sleep(_POLL_S)
        with attempt(name) as locked:
            if locked:
                yield
                return


@contextmanager
def attempt(name: str) -> Iterator[bool]:
    """Whether the lock ``name`` was free; if so, it is held during the block."""
    key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)
    if connection.vendor != "postgresql":
        with _file(key) as file:
            yield _locked(file)
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        locked = bool(cursor.fetchone()[0])
    try:
        yield locked
    finally:
        if locked:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])


def _file(key: int) -> BinaryIO:
    folder = settings.DATA_DIR / "locks"
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / f"{key % _FILES:03x}").open("ab")


def _locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
