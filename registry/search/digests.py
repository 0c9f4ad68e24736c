"""Digests: results of reads over all rows, kept in files beside the index.

A small hub computes them anew in each request. A large one answers with the stored result at
once, and computes it again in a thread when it is older than :data:`LIFETIME_S`; one process of a
host does so at a time. Only results that everybody may read may be stored.
"""

import fcntl
import json
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from django.db import DatabaseError, connection

from registry.errors import RegistryError
from registry.search.generations import folder
from registry.search.scale import is_small

_log = logging.getLogger(__name__)
Result = TypeVar("Result")

#: Age in seconds from which a stored result is computed again.
LIFETIME_S = 300.0


def digest(name: str, compute: Callable[[], Result]) -> Result | None:
    """The result of ``compute``; of a large hub the stored one, ``None`` before there is one.

    Args:
        name: Name of the file; lower-case letters, digits and hyphens.
        compute: Reads the result: JSON values, the same for every reader.
    """
    if is_small():
        return compute()
    path = folder() / f"digest-{name}.json"
    try:
        age_s = time.time() - path.stat().st_mtime
        stored: Result | None = json.loads(path.read_bytes())
    except (OSError, ValueError):
        age_s, stored = LIFETIME_S, None
    if age_s >= LIFETIME_S:
        _start(path, compute)
    return stored


_running: set[Path] = set()
_running_lock = threading.Lock()


def _start(path: Path, compute: Callable[[], object]) -> None:
    with _running_lock:
        if path in _running:
            return
        _running.add(path)
    threading.Thread(target=_refresh, args=(path, compute), name=path.stem, daemon=True).start()


def _refresh(path: Path, compute: Callable[[], object]) -> None:
    """Compute and store a result, unless another process does."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _take_the_time()
            new = path.with_suffix(".new")
            new.write_text(json.dumps(compute()))
            new.replace(path)
    except BlockingIOError:
        return
    except (OSError, DatabaseError, RegistryError) as error:
        _log.warning("%s cannot be renewed: %s", path.name, error)
    finally:
        connection.close()
        with _running_lock:
            _running.discard(path)


def _take_the_time() -> None:
    """Lift the time limit of queries, which is for requests, from this thread's own connection."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
