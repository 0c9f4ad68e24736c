"""The index folder: generations, which of them is searched, and the lock of the one writer.

::

    DATA_DIR/index/
        lock                the one writer holds it (flock: the kernel frees it when a process dies)
        current             the name of the generation that is searched; replaced by rename
        v1-3f9c.../         a generation: the version of its schema, then a random part

Nothing here is worth a backup: any of it may be deleted at any time.
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
    """Tantivy failed: the files are not what they should be, or cannot be written."""


@contextlib.contextmanager
def engine() -> Iterator[None]:
    """Turn every failure of tantivy into :class:`Broken`.

    Its panics on damaged files arrive as ``PanicException``, which is no ``Exception`` and cannot
    be imported.
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
    """The name of the generation in use; empty if there is none."""
    try:
        return (folder() / "current").read_text()
    except (OSError, ValueError):
        return ""


def opened(name: str) -> tantivy.Index:
    """A generation, kept open for the threads of this process.

    Raises:
        Broken: It is not there, damaged, or of another version.
    """
    # A fork keeps the object but not the threads behind it.
    key = (os.getpid(), folder() / name)
    index = _opened.get(key)
    if index is None:
        if not _NAME.fullmatch(name):
            raise Broken(f"there is no index of version {VERSION}")
        with engine():
            index = tantivy.Index.open(str(folder() / name))
            # By default a thread for each index polls its folder; we reload before each search.
            index.config_reader("manual")
            index.register_tokenizer("words", ANALYSER)
        _opened.clear()
        _opened[key] = index
    return index


_opened: dict[tuple[int, Path], tantivy.Index] = {}


def replace(fill: Callable[[tantivy.Index], int]) -> int:
    """Make a generation with ``fill`` and put it in place; what ``fill`` returned.

    The lock must be held. Searches go on in the old generation until the new one is complete.
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
    """Take a generation out of use, so that the next search builds another. Lock held."""
    if current() == name:
        (folder() / "current").unlink(missing_ok=True)


@contextlib.contextmanager
def writing(wait_s: float) -> Iterator[bool]:
    """Hold the lock of the one writer; ``False`` if it could not be had within ``wait_s``.

    Each call opens the file anew, so that threads exclude each other as processes do.
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
    """Where all of it lies."""
    return Path(settings.DATA_DIR) / "index"


def _sweep(kept: str) -> None:
    """Delete all generations but one: those replaced, and those a killed process left half made."""
    for path in folder().iterdir():
        if path.is_dir() and path.name != kept:
            shutil.rmtree(path, ignore_errors=True)
