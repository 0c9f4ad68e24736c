"""A private folder for one job: inputs copied in, everything removed afterwards."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from django.conf import settings

from registry.selectors.storage.blob import blob_path_of
from registry.tickets import FileTicket
from workers.engine.handover import remove

_LOCK = ".lock"


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """A folder of the job's own under the data folder, gone when the block ends.

    A killed worker leaves its folder behind, but not the lock on it: the next :func:`sweep` takes
    the lock and the folder away.
    """
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield folder
        finally:
            remove(folder)


def fetch(files: Iterable[FileTicket], folder: Path) -> None:
    """Copy a revision's files into ``folder``.

    Copies, never links: ONNX refuses external data behind links, and what runs untrusted bytes
    must not be able to write to the blob store.
    """
    for file in files:
        path = folder.joinpath(*PurePosixPath(file.path).parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        # copyfile uses copy_file_range, so file systems that can will share the blocks.
        shutil.copyfile(blob_path_of(file.sha256), path)


def sweep() -> None:
    """Remove what killed workers left. Safe beside workers at work: theirs are locked."""
    root = _root()
    if not root.is_dir():
        return
    for folder in root.iterdir():
        # A folder without a lock is being made in this moment.
        with suppress(FileNotFoundError, BlockingIOError), (folder / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)


def _root() -> Path:
    return Path(settings.DATA_DIR) / "work"
