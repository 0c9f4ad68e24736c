"""Snapshots: the index as one file, from which another host fills its folder.

A snapshot of yesterday is as good as one of now: the host that takes it up indexes what changed
since. It must be of the same database and younger than the outbox, which keeps 30 days.
"""

import shutil
import tarfile
import uuid
from pathlib import Path

from registry.errors import Invalid, Unavailable
from registry.search import generations, index
from registry.search.generations import Broken

_WAIT_S = 30.0


def save(path: Path) -> None:
    """Write a snapshot of the index. Raises ``Unavailable``: ``index_busy`` without an index."""
    with generations.writing(_WAIT_S) as held:
        name = generations.current()
        if not held or not name:
            raise Unavailable("index_busy", "There is no complete index.", "Try again later.")
        # The lock keeps the files together; tantivy never changes one that it has committed.
        with tarfile.open(path, "w") as archive:
            archive.add(generations.folder() / name, arcname=name)


def take_up(path: Path) -> None:
    """Use a snapshot as the index of this host, and index what changed since it was made.

    Raises:
        Invalid: ``invalid_request`` if it is no snapshot of this database and version.
        Unavailable: ``index_busy`` while another process builds the index.
    """
    with generations.building(_WAIT_S) as held:
        if not held:
            raise Unavailable("index_busy", "Another process is indexing.", "Try again later.")
        folder = generations.folder() / f"snapshot-{uuid.uuid4().hex}"
        try:
            with tarfile.open(path) as archive:
                _extract(archive, folder)
            (generation,) = folder.iterdir()
            generations.adopt(generation, index.is_own, wait_s=_WAIT_S)
        except (OSError, ValueError, tarfile.TarError, Broken) as error:
            raise Invalid(
                "invalid_request",
                f"{path.name} is no snapshot of this hub's index: {error}.",
                "Make one with: manage.py reindex --snapshot FILE",
            ) from error
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    index.catch_up(wait_s=_WAIT_S, budget_s=float("inf"))


def _extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of a snapshot below a folder.

    Filters of ``tarfile`` would do, but Python has them since 3.11.4 only. Raises ValueError if a
    member is no file or would be elsewhere.
    """
    for member in archive:
        path = (folder / member.name).resolve()
        if not path.is_relative_to(folder.resolve()) or not (member.isfile() or member.isdir()):
            raise ValueError(f"{member.name} is no file of an index")
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        content = archive.extractfile(member)
        assert content is not None  # noqa: S101  it is a file
        with path.open("xb") as file:
            shutil.copyfileobj(content, file)
