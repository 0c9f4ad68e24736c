"""Downloads files of a build or revision into the cache."""

from collections.abc import Sequence
from pathlib import Path

from hpcfair.budget import enforce
from hpcfair.cache import Cache
from hpcfair.difference import cached_versions, local_ranges
from hpcfair.errors import Corrupt
from hpcfair.localfiles import local_files
from hpcfair.progress import transferring
from hpcfair.transfer import receive
from hpcfair.transport import Transport
from hpcfair.tree import find_tree, make_tree
from hpcfair.types import File


def fetch_tree(
    http: Transport, cache: Cache, files: Sequence[File], *, what: str, verify: bool = False
) -> Path:
    """The folder with ``files``; files that are not in the cache are downloaded.

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
        folder = find_tree(cache, files, thorough=verify)
        if folder:
            return folder
        fetched = fetch_blobs(http, cache, files, what=what)
        try:
            folder = make_tree(cache, files, what=what, verified=fetched)
        except Corrupt:
            # A blob was damaged on disk and has been removed.
            fetched |= fetch_blobs(http, cache, files, what=what)
            folder = make_tree(cache, files, what=what, verified=fetched)
        if cache.budget_bytes is not None:
            enforce(cache, cache.budget_bytes)
        return folder


def fetch_blobs(http: Transport, cache: Cache, files: Sequence[File], *, what: str) -> set[str]:
    """Download the blobs of ``files`` that are not in the cache. Returns their verified digests.

    Of a new version of a cached file, only what differs is downloaded.
    """
    missing = {file.sha256: file for file in files if not cache.has(file)}
    if missing:
        with transferring(what, sum(file.size_bytes for file in missing.values())) as meter:
            for file in missing.values():
                local = local_ranges(http, what, file, cached_versions(cache, what, file))
                part = receive(http, cache.partials, file, meter, local)
                cache.keep_blob(part, file.sha256)
    return set(missing)
