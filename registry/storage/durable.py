"""Files and folders that outlast a crash of the machine."""

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from registry.errors import Unavailable


class Folders:
    """Makes the folders of blobs, and knows which of them are durable.

    A name is durable once the folder it stands in was flushed. The folder that gets a new file must
    therefore be flushed each time, but the folder above only until this process has done so once
    while the lower one was there. Finding the lower one there proves nothing: another process may
    have made it a moment ago, and have died before it flushed. Nor does its age. So nothing is
    believed but what this process did itself, which costs one flush per folder and process.
    """

    def __init__(self) -> None:
        # At most the 65,792 folders there can be. What is in it stays true, since nobody deletes
        # folders; a forked child may go on believing it.
        self._durable: set[Path] = set()

    def make(self, folder: Path) -> set[Path]:
        """Make the blobs' folder ``ab/cd`` where missing; those of it and ``ab`` not yet durable.

        They are once the folders they stand in are flushed: say so to :meth:`note`.
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
        """These were there when the folders they stand in were flushed."""
        self._durable |= flushed


def write_new(path: Path, pieces: Iterator[bytes]) -> None:
    """Write the new file ``path``, for reading only; it is not durable before :func:`flush`."""
    # 0o444: nothing that is handed the path may change a blob.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444)
    with os.fdopen(descriptor, "wb") as file:
        for piece in pieces:
            file.write(piece)


def flush(path: Path) -> None:
    """Wait until the file's bytes, or the folder's names, are on the disk.

    Whoever wrote them may have closed the file: a write that failed since is reported to whoever
    opens it next (Linux 4.17 and later).
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def link(source: Path, target: Path) -> None:
    """Give the file ``source`` the second name ``target``, atomically, in place of what is there.

    A second name, not a new one: should the bytes be collected before their row says that they
    are wanted, they can be put in place again.
    """
    stand_in = source.with_name(secrets.token_hex(16))
    try:
        try:
            stand_in.hardlink_to(source)
        except OSError as error:
            if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV}:
                raise
            # Some file systems have no second names.
            shutil.copyfile(source, stand_in)
            stand_in.chmod(0o444)
            flush(stand_in)
        stand_in.replace(target)
    finally:
        stand_in.unlink(missing_ok=True)


def same_file(path: Path, other: Path) -> bool:
    """Whether both are names of one file; not so where ``path`` is none."""
    try:
        return path.samefile(other)
    except FileNotFoundError:
        return False


@contextmanager
def full_disk_is_our_error() -> Iterator[None]:
    """Turn what a full disk raises into ``Unavailable`` ``storage_full``."""
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
