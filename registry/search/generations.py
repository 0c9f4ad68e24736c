"""The index folder: generations of the index, the current one, and the writer's lock.

::

    DATA_DIR/index/
        lock                held by the single writer (flock: released when its process ends)
        current             name of the generation in use; replaced by rename
        v1-3f9c.../         a generation: schema version and a random part

All of it may be deleted at any time and needs no backup.
"""

import contextlib
import fcntl
import os
import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import tantivy
from django.conf import settings

from registry.search.schema import ANALYSER, SCHEMA, VERSION

_NAME = re.compile(rf"v{VERSION}-[0-9a-f]{{32}}")


class Broken(Exception):
    """Tantivy failed: files are damaged, missing or cannot be written."""


@contextlib.contextmanager
def engine() -> Iterator[None]:
    """Translate all failures of tantivy into :class:`Broken`.

    Its panics on damaged files are raised as ``PanicException``, which does not derive from
    ``Exception`` and cannot be imported.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        raise Broken(str(error)) from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            raise Broken(str(error)) from error
        raise


def current() -> str:
    """Name of the generation in use; "" if there is none."""
    try:
        return (folder() / "current").read_text()
    except (OSError, ValueError):
        return ""


def opened(name: str) -> tantivy.Index:
    """An open generation, cached. Raises ``Broken`` if missing, damaged or of another version."""
    # A forked process has the object but not its threads.
    key = (os.getpid(), folder() / name)
    index = _opened.get(key)
    if index is None:
        if not _NAME.fullmatch(name):
            raise Broken(f"there is no index of version {VERSION}")
        with engine():
            index = tantivy.Index.open(str(folder() / name))
            # By default each index has a thread that polls its folder; here each search reloads.
            index.config_reader("manual")
            index.register_tokenizer("words", ANALYSER)
        _opened.clear()
        _opened[key] = index
    return index


_opened: dict[tuple[int, Path], tantivy.Index] = {}


def replace(fill: Callable[[tantivy.Index], int]) -> int:
    """Build a generation with ``fill`` and make it current; returns the result of ``fill``.

    The caller holds the lock. Searches use the old generation until the new one is complete.
    """
    path = folder() / f"v{VERSION}-{uuid.uuid4().hex}"
    _sweep(current())
    try:
        with engine():
            path.mkdir()
            index = tantivy.Index(SCHEMA, path=str(path))
            index.register_tokenizer("words", ANALYSER)
        count = fill(index)
        pointer = path.with_name("current.new")
        with engine():
            pointer.write_text(path.name)
            pointer.replace(path.with_name("current"))
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise
    _sweep(path.name)
    return count


def discard(name: str) -> None:
    """Stop using a generation: the next search builds another. The caller holds the lock."""
    if current() == name:
        (folder() / "current").unlink(missing_ok=True)


@contextlib.contextmanager
def writing(wait_s: float) -> Iterator[bool]:
    """Hold the writer's lock; ``False`` if it was not acquired within ``wait_s`` seconds.

    Each call opens the file again, so that threads exclude each other as well as processes.
    """
    folder().mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_s
    with (folder() / "lock").open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    yield False
                    return
                time.sleep(0.02)
            else:
                yield True
                return


def folder() -> Path:
    """The index folder."""
    return Path(settings.DATA_DIR) / "index"


def _sweep(name: str) -> None:
    """Delete all generations but one: replaced ones and incomplete ones of killed processes."""
    for path in folder().iterdir():
        if path.is_dir() and path.name != name:
            shutil.rmtree(path, ignore_errors=True)
