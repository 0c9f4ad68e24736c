"""Maintenance of the cache: listing, pruning, verifying."""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_file
from hpcfair.tree import damaged_files, read_states
from hpcfair.types import File

#: File in a tree that the user wants to keep.
_PIN = "pinned"
#: Interrupted downloads are kept this long.
_REST_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Entry:
    """The files of a build or revision in the cache.

    Attributes:
        used_at: Last use in seconds since the epoch, to the hour.
        is_pinned: Whether it is kept until it is unpinned.
    """

    id: str
    what: str
    files: tuple[File, ...]
    used_at: float
    is_pinned: bool = False

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class Removed:
    """What ``prune`` removed."""

    entries: int
    size_bytes: int


def entries(cache: Cache) -> list[Entry]:
    """All builds and revisions in the cache, most recently used first."""
    trees = []
    for tree in _children(cache.root / "trees"):
        what, states = read_states(tree)
        files = tuple(File(path, stamp[0], stamp[1]) for path, stamp in states.items())
        with contextlib.suppress(OSError):
            is_pinned = (tree / _PIN).exists()
            trees.append(Entry(tree.name, what, files, tree.stat().st_mtime, is_pinned))
    return sorted(trees, key=lambda entry: entry.used_at, reverse=True)


def pin(cache: Cache, what: str, *, is_pinned: bool = True) -> int:
    """Keep the builds and revisions of a model until they are unpinned. Returns their number."""
    named = [entry for entry in entries(cache) if entry.what == what]
    for entry in named:
        mark = cache.tree(entry.id) / _PIN
        used = (entry.used_at, entry.used_at)
        if is_pinned:
            mark.touch()
        else:
            mark.unlink(missing_ok=True)
        os.utime(cache.tree(entry.id), used)
    return len(named)


def remove(cache: Cache, entry: Entry) -> None:
    """Remove a build or revision, and what only it needs."""
    _remove_tree(cache, entry.id)
    digests = {file.sha256 for other in entries(cache) for file in other.files}
    for file in entry.files:
        if file.sha256 not in digests:
            cache.drop_blob(file.sha256)


def size_bytes(cache: Cache) -> int:
    """Bytes on disk of all files; hard links count once."""
    sizes = {}
    for path in cache.root.rglob("*"):
        with contextlib.suppress(OSError):
            if path.is_file():
                status = path.stat()
                sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def prune(cache: Cache, *, unused_s: float) -> Removed:
    """Remove what was not loaded for ``unused_s`` seconds and is not pinned, and abandoned
    downloads."""
    before = size_bytes(cache)
    now = time.time()
    unpinned = [entry for entry in entries(cache) if not entry.is_pinned]
    stale = [entry for entry in unpinned if now - entry.used_at >= unused_s]
    for entry in stale:
        _remove_tree(cache, entry.id)
    digests = {file.sha256 for entry in entries(cache) for file in entry.files}
    for blob in _blobs(cache):
        if blob.name not in digests and _age_s(blob, now) >= unused_s:
            _remove(blob)
    for rest in _children(cache.root / "partial"):
        if _age_s(rest, now) >= min(unused_s, _REST_S):
            _remove(rest)
    for name in ("answers", "documents"):
        for document in _children(cache.root / name):
            if _age_s(document, now) >= unused_s:
                _remove(document)
    return Removed(len(stale), max(0, before - size_bytes(cache)))


def verify(cache: Cache) -> list[str]:
    """Verify all digests. Damaged files are removed, to be downloaded again, and returned."""
    damaged = []
    for entry in entries(cache):
        wrong = damaged_files(cache.tree(entry.id), entry.files, thorough=True)
        if wrong:
            damaged += [f"{entry.what}: {path}" for path in wrong]
            _remove_tree(cache, entry.id)
    for blob in _blobs(cache):
        if sha256_of_file(blob) != blob.name:
            damaged.append(f"blob {blob.name}")
            _remove(blob)
    return damaged


def _remove_tree(cache: Cache, tree_id: str) -> None:
    """Remove a tree: rename it first, so that no process finds half of it."""
    doomed = cache.temporary_folder()
    with contextlib.suppress(OSError):
        cache.tree(tree_id).rename(doomed / "tree")
    _remove(doomed)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _blobs(cache: Cache) -> Iterator[Path]:
    for shelf in _children(cache.root / "blobs"):
        yield from _children(shelf)


def _children(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _age_s(path: Path, now: float) -> float:
    try:
        return now - path.stat().st_mtime
    except OSError:
        return 0.0
