"""Durable writes of files and folders, which survive a crash of the machine."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from registry.errors import Unavailable


class Folders:
    """Creates the folders of blobs, and tracks which of them are durable.

    A name is durable once its parent folder was flushed. The folder that gets a new file must
    therefore be flushed each time, but the folder above only until this process has flushed it
    once while the lower one existed. The existence of the lower one proves nothing, whatever its
    age: another process may have created it and died before the flush. So only flushes of this
    process count, which costs one flush per folder and process.
    """

    def __init__(self) -> None:
        # At most the 65,792 possible folders. Entries stay valid, since folders are never deleted;
        # a forked child may rely on them.
        self._durable: set[Path] = set()

    def make(self, folder: Path) -> set[Path]:
        """Create the folder ``ab/cd`` if missing; returns those of it and ``ab`` not yet durable.

        They become durable when their parent folders are flushed: call :meth:`note` then.
        """
        fresh = set()
        for level in (folder.parent, folder):
            with suppress(FileExistsError):
                level.mkdir()
                self._durable.discard(level)
            if level not in self._durable:
                fresh.add(level)
        return fresh

    def note(self, flushed: set[Path]) -> None:
        """Mark folders as durable: they existed when their parent folders were flushed."""
        self._durable |= flushed


def write_new(path: Path, pieces: Iterator[bytes]) -> None:
    """Write the new, read-only file ``path``; it is durable after :func:`flush` only."""
    # 0o444: users of the path must not change a blob.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)


def flush(path: Path) -> None:
    """Wait until the file's bytes, or the folder's names, are on the disk.

    The file may have been closed since it was written: a write error is reported to the next
    process that opens the file (Linux 4.17 and later).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link(source: Path, target: Path) -> None:
    """Give the file ``source`` the second name ``target``, atomically, replacing any file there.

    It keeps its first name: if the bytes are collected before their row is written, they can be
    linked again.
    """
    temporary = source.with_name(secrets.token_hex(16))
    try:
        try:
            temporary.hardlink_to(source)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}:
                raise
            # Some file systems have no hard links.
            shutil.copyfile(source, temporary)
            temporary.chmod(0o444)
            flush(temporary)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def same_file(path: Path, other: Path) -> bool:
    """Whether both paths name the same file; false if ``path`` does not exist."""
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


@contextmanager
def translate_disk_full() -> Iterator[None]:
    """Translate the ``OSError`` of a full disk into ``Unavailable`` ``storage_full``."""
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise Unavailable(
                "storage_full",
                "The hub has no room left for these bytes.",
                "Tell the hub's operator, and try again later.",
            ) from error
        raise
