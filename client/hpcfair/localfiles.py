"""Failures of this machine's files as :class:`hpcfair.errors.StorageFailed`, with what helps."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hpcfair.errors import HpcfairError, StorageFailed

#: System error to code, sentence on a file or folder, and remedy.
_CAUSES = {
    errno.ENOSPC: ("disk_full", "The disk of {} is full", "Free some space"),
    errno.EDQUOT: ("disk_full", "The quota for {} is used up", "Free some space"),
    errno.EFBIG: (
        "file_too_large",
        "{} is larger than a file may be here",
        "Raise the limit (`ulimit -f`)",
    ),
    errno.EROFS: ("not_permitted", "{} is on a read-only file system", "Make it writable"),
    errno.EACCES: ("not_permitted", "{} is not accessible", "Change its permissions"),
    errno.EPERM: ("not_permitted", "{} is not accessible", "Change its permissions"),
    errno.ENOENT: ("storage_failed", "{} does not exist", "Create its folder"),
    errno.EISDIR: ("storage_failed", "{} is a folder", "Name a file"),
    errno.ENOTDIR: ("storage_failed", "{} is below a file", "Remove the file"),
    errno.EEXIST: ("storage_failed", "{} is no folder", "Remove the file of that name"),
}
_OTHER = ("storage_failed", "{} cannot be used", "Check the disk")


@contextmanager
def local_files(folder: Path | None, variable: str = "") -> Iterator[None]:
    """Raises errors of the system while files are read and written as StorageFailed.

    Args:
        folder: Named in the message where the system names no file; ``None`` for temporary files.
        variable: Environment variable that sets another folder in place of this one.
    """
    try:
        yield
    # Errors of a connection are the system's errors, too.
    except (HpcfairError, ConnectionError, TimeoutError):
        raise
    except OSError as error:
        # Unset if there is no folder for temporary files at all.
        folder = folder or Path(tempfile.tempdir or os.sep)
        name = _name_of(error)
        is_inside = not name or Path(name).is_relative_to(folder)
        raise storage_failed(error, str(folder), variable if is_inside else "") from error


def storage_failed(error: OSError, place: str, variable: str = "") -> StorageFailed:
    """The error for a failure of the system.

    Args:
        place: Named in the message where the system names no file.
        variable: Environment variable that sets another folder.
    """
    code, sentence, remedy = _CAUSES.get(error.errno or 0, _OTHER)
    place = _name_of(error) or place
    elsewhere = f", or set {variable} to another folder" if variable else ""
    reason = error.strerror or str(error) or type(error).__name__
    failure = StorageFailed(
        f"{sentence.format(place)}: {reason}.", f"{remedy}{elsewhere}.", code=code
    )
    failure.errno, failure.strerror, failure.filename = error.errno, error.strerror, error.filename
    return failure


def _name_of(error: OSError) -> str:
    """The file that the system names; empty if it names none, as for a full disk."""
    name = error.filename
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else ""
