"""Private folders of jobs: inputs are copied in, and all is removed at the end."""

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
    """A private folder below the data folder, removed at the end of the block. The folder of a
    killed worker remains without its lock; the next :func:`sweep` removes it."""
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
    """Copy files into ``folder``. Not links: ONNX rejects links to external data, and untrusted
    processes could write to the blobs."""
    for file in files:
        path = folder.joinpath(*PurePosixPath(file.path).parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        # copyfile uses copy_file_range, which shares blocks on file systems that support it.
        shutil.copyfile(blob_path_of(file.sha256), path)


def sweep() -> None:
    """Remove folders of killed workers; folders in use are locked."""
    root = _root()
    if not root.is_dir():
        return
    for folder in root.iterdir():
        # A folder without a lock file is just being created.
        with suppress(FileNotFoundError, BlockingIOError), (folder / _LOCK).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(folder)


def _root() -> Path:
    return Path(settings.DATA_DIR) / "work"
