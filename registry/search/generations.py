"""The index folder: generations of the index, the current one, and the writer's lock.

::

    DATA_DIR/index/
        lock                held by the single writer of the generation in use (flock: released
                            when its process ends)
        build.lock          held by the process that builds another generation
        current             name of the generation in use; replaced by rename
        building            name of the generation being built; an interrupted build continues it
        v2-3f9c.../         a generation: schema version and a random part
            structures-*    embeddings of network structures (structures.py)
        digest-*.json       stored results of other reads over all rows (digests.py)

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


class Busy(Broken):
    """Another process is writing to the generation in use."""


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
            index = _ready(tantivy.Index.open(str(folder() / name)))
        _opened.clear()
        _opened[key] = index
    return index


_opened: dict[tuple[int, Path], tantivy.Index] = {}


def replace(
    fill: Callable[[tantivy.Index, Path], int],
    is_continuable: Callable[[tantivy.Index], bool],
    *,
    wait_s: float,
) -> int:
    """Build a generation with ``fill`` and make it current; returns the result of ``fill``.

    The caller holds the lock of the build. Searches use the old generation, and follow changes,
    until the new one is complete. A failure of the files discards the new one; after any other
    interruption, the next build continues it if it ``is_continuable``.

    Raises ``Broken``; ``Busy`` if the old generation is being written for ``wait_s`` seconds.
    """
    path = _unfinished(is_continuable) or folder() / f"v{VERSION}-{uuid.uuid4().hex}"
    try:
        with engine():
            _point("building", path.name)
            _sweep(current(), path.name)
            path.mkdir(exist_ok=True)
            index = _ready(tantivy.Index(SCHEMA, path=str(path)))
        count = fill(index, path)
    except Broken:
        shutil.rmtree(path, ignore_errors=True)
        raise
    with writing(wait_s) as held, engine():
        if not held:
            raise Busy("another process is writing")
        _point("current", path.name)
        (folder() / "building").unlink(missing_ok=True)
        _sweep(path.name)
    return count


def adopt(path: Path, is_own: Callable[[tantivy.Index], bool], *, wait_s: float) -> None:
    """Make a generation from elsewhere the current one; the caller holds the lock of the build.

    Raises ``Broken`` if it is of another version or not ``is_own``, or as :func:`replace` does.
    """
    if not _NAME.fullmatch(path.name):
        raise Broken(f"it is not of version {VERSION}")
    with engine():
        if not is_own(_ready(tantivy.Index.open(str(path)))):
            raise Broken("it was made from another database")
    with writing(wait_s) as held, engine():
        if not held:
            raise Busy("another process is writing")
        # Readers keep open files by name, so the name must be new.
        name = f"v{VERSION}-{uuid.uuid4().hex}"
        path.rename(folder() / name)
        _point("current", name)
        _sweep(name)


def discard(name: str) -> None:
    """Stop using a generation: the next search builds another. The caller holds the lock."""
    if current() == name:
        (folder() / "current").unlink(missing_ok=True)


def writing(wait_s: float) -> contextlib.AbstractContextManager[bool]:
    """Hold the lock of the generation in use; ``False`` if not acquired within ``wait_s`` seconds.

    It excludes threads of this process as well as other processes.
    """
    return _locked("lock", wait_s)


def building(wait_s: float) -> contextlib.AbstractContextManager[bool]:
    """Hold the lock of the build; ``False`` if not acquired within ``wait_s`` seconds.

    Who holds both locks takes this one first.
    """
    return _locked("build.lock", wait_s)


def folder() -> Path:
    """The index folder, of this host alone or of all that share the data folder."""
    return Path(settings.INDEX_DIR or Path(settings.DATA_DIR) / "index")


@contextlib.contextmanager
def _locked(name: str, wait_s: float) -> Iterator[bool]:
    """Each call opens the file again, so that threads exclude each other as well as processes."""
    folder().mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait_s
    with (folder() / name).open("w") as lock:
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


def _ready(index: tantivy.Index) -> tantivy.Index:
    # By default each index has a thread that polls its folder; here each search reloads.
    index.config_reader("manual")
    index.register_tokenizer("words", ANALYSER)
    return index


def _unfinished(is_continuable: Callable[[tantivy.Index], bool]) -> Path | None:
    """The generation of an interrupted build, if it can be continued."""
    try:
        name = (folder() / "building").read_text()
        if not _NAME.fullmatch(name):
            return None
        with engine():
            index = _ready(tantivy.Index.open(str(folder() / name)))
            return folder() / name if is_continuable(index) else None
    except (OSError, ValueError, Broken):
        return None


def _point(pointer: str, name: str) -> None:
    """Let a pointer file hold the name of a generation."""
    new = folder() / f"{pointer}.new"
    new.write_text(name)
    new.replace(folder() / pointer)


def _sweep(*names: str) -> None:
    """Delete all generations but these: replaced ones and those of other versions."""
    for path in folder().iterdir():
        if path.is_dir() and path.name not in names:
            shutil.rmtree(path, ignore_errors=True)
