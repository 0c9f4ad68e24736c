"""Intermediate files that the builds of a device share: quantised graphs, ranges, observations.

A confined child makes them beside its build. Its parent takes them over once the child has ended,
and later children may read them, but not change them::

    scratch/
      1/artefact  1/intermediates/<key>     written by the child of a build
      intermediates/<key>                   moved here by the parent, for the children after it

The key is a digest of everything that determines the content, so that equal keys mean equal files.
The files come from an untrusted network, as builds do: a build that used them is checked like any
other.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from hpcfair.isolation.limits import Limits
from workers.engine.errors import CandidateFailed
from workers.engine.handover import check_files
from workers.engine.types import Network, SharedFolders, sha256_of

FOLDER = "intermediates"
#: File in the folder of an intermediate: the seconds that it took.
_SECONDS = "seconds"
_DIGITS = frozenset("0123456789abcdef")

#: Seconds that the builds of this process saved, for :func:`saved_s`.
_SAVED_S: list[float] = []


@contextmanager
def intermediate(
    network: Network, step: str, facts: Mapping[str, Any], make: Callable[[Path], None]
) -> Iterator[Path]:
    """The folder of an intermediate of a network, made unless it exists.

    Call it in the child process of a build. Without shared folders, the intermediate is deleted
    afterwards.

    Args:
        step: What it is, with the name of the backend.
        facts: Everything that determines the files, besides the network's source file.
        make: Writes the files into an empty folder.
    """
    shared = network.shared
    if shared is None:
        with TemporaryDirectory() as folder:
            make(Path(folder))
            yield Path(folder)
        return
    key = sha256_of([step, str(network.source_path), dict(facts)])
    for parent in (shared.existing, shared.added):
        if (parent / key / _SECONDS).is_file():
            _SAVED_S.append(float((parent / key / _SECONDS).read_text()))
            yield parent / key
            return
    folder_of_key = shared.added / key
    folder_of_key.mkdir(parents=True)
    started = perf_counter()
    make(folder_of_key)
    (folder_of_key / _SECONDS).write_text(f"{perf_counter() - started:.3f}")
    yield folder_of_key


def saved_s() -> float:
    """Seconds of the intermediates that this process found made; they are part of the time that a
    build takes on its own."""
    return sum(_SAVED_S)


class IntermediateStore:
    """The intermediates of a device, in the parent of its children.

    Args:
        folder: Created with the first intermediate.
    """

    def __init__(self, folder: Path, limits: Limits) -> None:
        self._folder = folder
        self._limits = limits

    def folders(self, workspace: Path) -> SharedFolders:
        """The folders for a child that may write to ``workspace``."""
        return SharedFolders(self._folder, workspace / FOLDER)

    def take(self, workspace: Path) -> None:
        """Take over what an ended child has made in its ``workspace``. Files that are no plain
        files, or too large, are left there, as are those of unfinished intermediates."""
        added = workspace / FOLDER
        if added.is_symlink() or not added.is_dir():
            return
        for each in added.iterdir():
            is_key = len(each.name) == len(sha256_of("")) and _DIGITS.issuperset(each.name)
            if not is_key or each.is_symlink() or not each.is_dir():
                continue
            try:
                check_files(each, self._limits)
            except (CandidateFailed, OSError):
                continue
            self._folder.mkdir(exist_ok=True)
            if (each / _SECONDS).is_file() and not (self._folder / each.name).exists():
                each.rename(self._folder / each.name)
