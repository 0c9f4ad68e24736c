"""Finds what a new version of a file has in common with versions that are on disk.

The hub compares files by content-defined chunks and names equal ranges; the others are downloaded
by HTTP ranges. Nothing here needs to be true: the whole file is verified by its digest, and is
downloaded whole if it does not match.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_file
from hpcfair.errors import HpcfairError
from hpcfair.mlmodel import address
from hpcfair.paths import safe_join
from hpcfair.transport import Transport
from hpcfair.types import File
from hpcfair.upkeep import entries

#: Smaller files are downloaded whole.
_WORTH_BYTES = 2**20
#: A shorter equal range costs less to download than another request.
_SHORTEST_BYTES = 2**18
#: Upper bound on the versions that are compared.
_MOST_VERSIONS = 3


@dataclass(frozen=True, slots=True)
class LocalRange:
    """``size_bytes`` at ``offset`` of a file, which lie at ``local_offset`` of ``path``."""

    offset: int
    path: Path
    local_offset: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class LocalVersion:
    """A file on disk that may be an earlier version of another one."""

    path: Path
    sha256: str


def cached_versions(cache: Cache, name: str, file: File) -> Iterator[LocalVersion]:
    """The versions of ``file`` in the cache, most recently used first; ``name``: of its model."""
    for entry in entries(cache) if file.size_bytes >= _WORTH_BYTES else ():
        if entry.what == name:
            folder = cache.tree(entry.id) / "files"
            for other in entry.files:
                if other.path == file.path and other.sha256 != file.sha256:
                    yield LocalVersion(safe_join(folder, other.path), other.sha256)


def version_in_place(place: Path, file: File) -> Iterator[LocalVersion]:
    """The file that ``file`` is about to replace, if there is one."""
    if file.size_bytes >= _WORTH_BYTES and place.is_file() and not place.is_symlink():
        yield LocalVersion(place, sha256_of_file(place))


def local_ranges(
    http: Transport, name: str, file: File, versions: Iterable[LocalVersion]
) -> list[LocalRange]:
    """The ranges of ``file`` that are on disk, in order and disjoint.

    Args:
        name: Name of the model.
        versions: Compared in order until one has anything in common with ``file``.
    """
    for version in islice(versions, _MOST_VERSIONS):
        query = {"sha256": file.sha256, "earlier": version.sha256}
        try:
            items = http.get(f"{address(name)}/equal-ranges", query)["items"]
            ranges = list(_checked(items, file, version.path))
        # An older hub, no recorded chunks, or an unusable answer: the download states failures.
        except (HpcfairError, KeyError, TypeError, ValueError):
            continue
        if ranges:
            return ranges
    return []


def _checked(items: Iterable[Any], file: File, path: Path) -> Iterator[LocalRange]:
    at = 0
    for item in items:
        offset, local_offset = int(item["offset"]), int(item["earlier_offset"])
        size_bytes = int(item["size_bytes"])
        if offset < at or local_offset < 0 or offset + size_bytes > file.size_bytes:
            raise ValueError(f"The range at {offset} is outside {file.path}.")
        if size_bytes >= _SHORTEST_BYTES:
            yield LocalRange(offset, path, local_offset, size_bytes)
            at = offset + size_bytes
