"""Private folders of jobs: inputs are copied in, and all is removed at the end."""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from hpcfair.tickets import FileTicket
from workers.device.errors import HubError
from workers.engine.handover import remove

_LOCK = ".lock"


@contextmanager
def workspace(root: Path, name: str) -> Iterator[Path]:
    """A private folder in ``root``, removed at the end of the block. The folder of a killed worker
    remains without its lock; the next :func:`sweep` removes it."""
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            remove(folder)


def sweep(root: Path) -> None:
    """Remove folders of killed workers; folders in use are locked."""
    if not root.is_dir():
        return
    for folder in root.iterdir():
        # A folder without a lock file is just being created.
        with suppress(FileNotFoundError, BlockingIOError), (folder / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)


def destination(folder: Path, file: FileTicket) -> Path:
    """Where a fetched file belongs in ``folder``; its parent is made. Raises HubError
    ``invalid_path``: a device need not trust the hub."""
    path = PurePosixPath(file.path)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise HubError("invalid_path", f"The file name {file.path[:200]!r} leads outside.")
    place = folder.joinpath(*path.parts)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place
