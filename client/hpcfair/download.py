"""Downloads files of a build or revision into the cache."""

import logging
from collections.abc import Sequence
from pathlib import Path

from hpcfair.budget import enforce
from hpcfair.cache import Cache
from hpcfair.difference import cached_versions, local_ranges
from hpcfair.downloadthreads import download_all
from hpcfair.downloadwait import start_alone
from hpcfair.errors import Corrupt
from hpcfair.localfiles import local_files
from hpcfair.progress import Meter, transferring
from hpcfair.transfer import receive
from hpcfair.transport import Transport
from hpcfair.tree import make_tree, search_trees
from hpcfair.types import File

_log = logging.getLogger("hpcfair")
#: Attempts to make a folder of blobs that other processes may find damaged, or remove.
_ATTEMPTS = 3


def fetch_tree(
    http: Transport, cache: Cache, files: Sequence[File], *, what: str, verify: bool = False
) -> Path:
    """The folder with ``files``; files that are not in the cache are downloaded.

    Damaged files of the cache are replaced, and a warning is logged.

    Args:
        what: Name of the files' owner, for messages; by that of a model, earlier versions of its
            files are known.
        verify: Verify digests even if the cached files are unchanged.

    Raises:
        Corrupt: the hub's bytes differ from their digest.
        UnsafePath: the hub named a file outside the folder.
        HubUnreachable: bytes are missing and cannot be downloaded; the next call resumes.
        StorageFailed: the cache cannot be read or written; what was downloaded is kept.
    """
    with local_files(cache.root, "HPCFAIR_CACHE"):
        search = search_trees(cache, files, thorough=verify)
        if search.folder:
            return search.folder
        if search.damaged:
            first, *others = search.damaged
            more = f" and {len(others)} more" if others else ""
            _log.warning("Damaged files of %s in the cache are replaced: %s%s.", what, first, more)
        folder = _make_of_blobs(http, cache, files, what, is_reported=bool(search.damaged))
        if cache.budget_bytes is not None:
            enforce(cache, cache.budget_bytes)
        return folder


def _make_of_blobs(
    http: Transport, cache: Cache, files: Sequence[File], what: str, *, is_reported: bool
) -> Path:
    """Make the folder of blobs, which are downloaded where they are missing or damaged.

    Args:
        is_reported: Whether the user was told of the damage.
    """
    fetched: set[str] = set()
    for attempt in range(1, _ATTEMPTS + 1):
        fetched |= fetch_blobs(http, cache, files, what=what)
        try:
            return make_tree(cache, files, what=what, verified=fetched)
        except Corrupt as error:
            if attempt == _ATTEMPTS:
                raise
            if not is_reported:
                _log.warning("%s They are downloaded again.", error.detail)
    raise AssertionError("there is at least one attempt")


def fetch_blobs(http: Transport, cache: Cache, files: Sequence[File], *, what: str) -> set[str]:
    """Download the blobs of ``files`` that are not in the cache. Returns the digests of those that
    this process has downloaded and verified.

    Of a new version of a cached file, only what differs is downloaded.
    """
    missing = {file.sha256: file for file in files if not cache.has(file)}
    verified: set[str] = set()

    def fetch(file: File, meter: Meter) -> None:
        local = local_ranges(http, what, file, cached_versions(cache, what, file))
        part = start_alone(cache, file, what)
        if part is None:
            meter.advance(file.size_bytes)
            return
        part = receive(http, cache.partials, file, meter, local, part)
        cache.keep_blob(part, file.sha256)
        verified.add(file.sha256)

    if missing:
        with transferring(what, sum(file.size_bytes for file in missing.values())) as meter:
            download_all([*missing.values()], fetch, meter)
    return verified
