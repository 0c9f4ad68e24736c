"""The files of one build or revision, as real files under their own names.

ONNX refuses external data behind symbolic or hard links, so a folder with more than one file is
made of copies. A folder appears complete or not at all; its files are verified when it is made,
and again whenever size or time of change says that somebody touched them.
"""

import contextlib
import json
import os
import shutil
import stat
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from hpcfair.cache import Cache, link_or_copy
from hpcfair.digest import sha256_of_file, sha256_of_json
from hpcfair.errors import Corrupt
from hpcfair.paths import safe_join
from hpcfair.types import File

STAMPS = "verified.json"


def tree_id(files: Sequence[File]) -> str:
    """Identity of a set of files: equal paths and bytes give equal ids."""
    return sha256_of_json(sorted([file.path, file.sha256] for file in files))


def find_tree(cache: Cache, files: Sequence[File], *, thorough: bool = False) -> Path | None:
    """The folder holding ``files``, if it is there and unchanged.

    Args:
        thorough: Hash all bytes instead of trusting size and time of change.
    """
    tree = cache.tree(tree_id(files))
    if damaged_files(tree, files, thorough=thorough):
        return None
    # The time of use, for prune.
    with contextlib.suppress(OSError):
        os.utime(tree)
    return tree / "files"


def make_tree(
    cache: Cache, files: Sequence[File], *, what: str, verified: Collection[str] = ()
) -> Path:
    """Make the folder from blobs in the cache, verifying every byte on the way.

    Args:
        what: Whose files these are, for people who look into the cache.
        verified: Digests of blobs that were hashed just now, which need not be hashed again.

    Raises:
        Corrupt: a blob is damaged; it has been dropped, so fetching again helps.
        UnsafePath: a path would leave the folder; nothing is made.
    """
    tree = cache.tree(tree_id(files))
    building = cache.temporary_folder()
    try:
        folder = building / "files"
        folder.mkdir()
        for file in files:
            place = safe_join(folder, file.path)
            _place(cache, file, place, link=len(files) == 1, hashed=file.sha256 in verified)
        stamps = {file.path: _stamp(safe_join(folder, file.path), file) for file in files}
        text = json.dumps({"what": what, "files": stamps})
        (building / STAMPS).write_text(text, "utf-8")
        _move_in(cache, building, tree, files)
    finally:
        shutil.rmtree(building, ignore_errors=True)
    return tree / "files"


def damaged_files(tree: Path, files: Sequence[File], *, thorough: bool) -> list[str]:
    """Paths in ``tree`` that are missing, or not what was verified; all, where it is not there."""
    stamps = read_stamps(tree)[1]
    if not stamps:
        return [file.path for file in files] or [STAMPS]
    return [
        file.path
        for file in files
        if not _intact(safe_join(tree / "files", file.path), file, stamps, thorough=thorough)
    ]


def read_stamps(tree: Path) -> tuple[str, dict[str, list[Any]]]:
    """Whose files a tree holds, and path to ``[sha256, size_bytes, mtime_ns]`` as last verified;
    nothing for a tree that is not there."""
    try:
        stamps = json.loads((tree / STAMPS).read_text("utf-8"))
        return str(stamps["what"]), dict(stamps["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return "", {}


def _place(cache: Cache, file: File, place: Path, *, link: bool, hashed: bool) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(cache.blob(file.sha256), place, link=link)
    whole = place.stat().st_size == file.size_bytes
    if not whole or not (hashed or sha256_of_file(place) == file.sha256):
        cache.drop_blob(file.sha256)
        raise Corrupt(f"The cached bytes of {file.path} are damaged.", "They were dropped.")
    place.chmod(0o444)


def _stamp(place: Path, file: File) -> list[Any]:
    return [file.sha256, file.size_bytes, place.stat().st_mtime_ns]


def _intact(place: Path, file: File, stamps: Any, *, thorough: bool) -> bool:
    try:
        status = place.lstat()
    except OSError:
        return False
    if not stat.S_ISREG(status.st_mode) or status.st_size != file.size_bytes:
        return False
    touched = stamps.get(file.path) != [file.sha256, status.st_size, status.st_mtime_ns]
    return not (touched or thorough) or sha256_of_file(place) == file.sha256


def _move_in(cache: Cache, building: Path, tree: Path, files: Sequence[File]) -> None:
    """Rename into place, unless somebody else has just finished the same work.

    A folder that is intact is never replaced: a process may be reading from it.
    """
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
