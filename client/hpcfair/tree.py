"""The files of one build or revision in the cache, under their own names.

ONNX rejects external data behind symbolic or hard links, so a folder with several files contains
copies. A folder appears complete or not at all. Its files are verified when it is created, and
again whenever their size or modification time has changed.
"""

import contextlib
import json
import os
import shutil
import stat
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hpcfair.cache import Cache, link_or_copy, make_final
from hpcfair.digest import sha256_of_file, sha256_of_json
from hpcfair.errors import Corrupt
from hpcfair.paths import safe_join
from hpcfair.types import File

STAMPS = "verified.json"
#: The time of last use is not written more often than this: many processes would do so at once.
_USE_STEP_S = 3600.0


def tree_id(files: Sequence[File]) -> str:
    """Id of a set of files; equal paths and contents give equal ids."""
    return sha256_of_json(sorted([file.path, file.sha256] for file in files))


@dataclass(frozen=True, slots=True)
class TreeSearch:
    """The result of a search for a set of files.

    Attributes:
        folder: The folder with the files; ``None`` if no layer of the cache has it intact.
        damaged: Files of trees that were passed over, because they are missing there or changed.
    """

    folder: Path | None
    damaged: tuple[Path, ...]


def find_tree(cache: Cache, files: Sequence[File], *, thorough: bool = False) -> Path | None:
    """The folder that :func:`search_trees` finds."""
    return search_trees(cache, files, thorough=thorough).folder


def search_trees(cache: Cache, files: Sequence[File], *, thorough: bool = False) -> TreeSearch:
    """Look for a folder with ``files``, unchanged by size and time, or by digest if ``thorough``.

    If it is in a layer of the cache, or was used in the last hour, nothing is written.
    """
    identity = tree_id(files)
    damaged: list[Path] = []
    for layer in (cache, *cache.layers):
        tree = layer.tree(identity)
        wrong = damaged_files(tree, files, thorough=thorough)
        if not wrong:
            if layer is cache:
                _note_use(tree)
            return TreeSearch(tree / "files", tuple(damaged))
        if tree.is_dir():
            damaged += [tree / "files" / path for path in wrong]
    return TreeSearch(None, tuple(damaged))


def _note_use(tree: Path) -> None:
    """Set the time of last use, for prune."""
    with contextlib.suppress(OSError):
        if abs(time.time() - tree.stat().st_mtime) > _USE_STEP_S:
            os.utime(tree)


def make_tree(
    cache: Cache, files: Sequence[File], *, what: str, verified: Collection[str] = ()
) -> Path:
    """Create the folder from blobs in the cache and verify them.

    Args:
        what: Name of the files' owner, for listings of the cache.
        verified: Digests of blobs that were verified just now.

    Raises:
        Corrupt: a blob is damaged or missing; it has been removed, so that downloading it again
            helps.
        UnsafePath: a path leads outside the folder; nothing is created.
    """
    tree = cache.tree(tree_id(files))
    building = cache.temporary_folder()
    try:
        folder = building / "files"
        folder.mkdir()
        for file in files:
            place = safe_join(folder, file.path)
            _place(cache, file, place, link=len(files) == 1, hashed=file.sha256 in verified)
        states = {file.path: _state(safe_join(folder, file.path), file) for file in files}
        text = json.dumps({"what": what, "files": states})
        (building / STAMPS).write_text(text, "utf-8")
        make_final(building / STAMPS)
        _move_in(cache, building, tree, files)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return tree / "files"


def damaged_files(tree: Path, files: Sequence[File], *, thorough: bool) -> list[str]:
    """Paths in ``tree`` that are missing or changed; all paths if the tree does not exist."""
    states = read_states(tree)[1]
    if not states:
        return [file.path for file in files] or [STAMPS]
    return [
        file.path
        for file in files
        if not _intact(safe_join(tree / "files", file.path), file, states, thorough=thorough)
    ]


def read_states(tree: Path) -> tuple[str, dict[str, list[Any]]]:
    """Owner of a tree, and path to its last ``[sha256, bytes, mtime_ns]``; empty if missing."""
    try:
        states = json.loads((tree / STAMPS).read_text("utf-8"))
        return str(states["what"]), dict(states["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def _place(cache: Cache, file: File, place: Path, *, link: bool, hashed: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    blob = cache.blob(file.sha256)
    try:
        link_or_copy(blob, place, link=link)
    except FileNotFoundError as error:
        # Another process found it damaged, or removed it to save space.
        raise Corrupt(
            f"The cached bytes of {file.path} were removed by another process.", "Try again."
        ) from error
    whole = place.stat().st_size == file.size_bytes
    if not whole or not (hashed or sha256_of_file(place) == file.sha256):
        cache.drop_blob(file.sha256)
        raise Corrupt(f"The cached bytes of {file.path} are damaged: {blob}.", "They were removed.")
    make_final(place)


def _state(place: Path, file: File) -> list[Any]:
    return [file.sha256, file.size_bytes, place.stat().st_mtime_ns]


def _intact(place: Path, file: File, states: Any, *, thorough: bool) -> bool:
    try:
        status = place.lstat()
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size_bytes:
        return False
    touched = states.get(file.path) != [file.sha256, status.st_size, status.st_mtime_ns]
    return not (touched or thorough) or sha256_of_file(place) == file.sha256


def _move_in(cache: Cache, building: Path, tree: Path, files: Sequence[File]) -> None:
    """Rename into place; an intact folder is never replaced, because a process may read it."""
    tree.parent.mkdir(parents=True, exist_ok=True)
    for _ in range(3):
        with contextlib.suppress(OSError):
            building.rename(tree)
            return
        if not damaged_files(tree, files, thorough=True):
            return
        old = cache.temporary_folder()
        with contextlib.suppress(OSError):
            tree.rename(old / "old")
        shutil.rmtree(old, ignore_errors=True)
    building.rename(tree)
