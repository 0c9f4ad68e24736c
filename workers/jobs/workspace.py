"""A private folder for one job: inputs copied in, everything removed afterwards."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from django.conf import settings

from registry.selectors.blob import blob_path_of
from registry.tickets import FileTicket
from workers.engine.handover import remove


@contextmanager
def workspace(name: str) -> Iterator[Path]:
    """An empty folder under the data folder, gone when the block ends.

    A killed worker leaves its folder behind; the next one sweeps it (:func:`sweep`).
    """
    root = _root()
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=root))
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
    """Remove what killed workers of this machine left; call when none is running."""
    remove(_root())


def _root() -> Path:
    return Path(settings.DATA_DIR) / "work"
