"""Bytes from the hub: resumed where they broke off, verified before they count."""

from collections.abc import Sequence
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.digest import sha256_of_file
from hpcfair.errors import Corrupt, HubUnreachable, Offline
from hpcfair.progress import Meter, transferring
from hpcfair.transport import Transport
from hpcfair.tree import find_tree, make_tree
from hpcfair.types import File

#: Broken connections in a row without a byte gained, after which we give up.
_PATIENCE = 3


def fetch_tree(
    http: Transport, cache: Cache, files: Sequence[File], *, what: str, verify: bool = False
) -> Path:
    """The folder with ``files``, downloading what the cache lacks.

    Args:
        what: Whose files these are, for people.
        verify: Hash all bytes even if the cache holds them unchanged.

    Raises:
        Corrupt: the hub's bytes differ from their digest.
        UnsafePath: the hub named a file that would leave its folder.
        HubUnreachable: bytes are missing and cannot be had.
    """
    folder = find_tree(cache, files, thorough=verify)
    if folder:
        return folder
    fetch_blobs(http, cache, files, what=what)
    try:
        return make_tree(cache, files, what=what)
    except Corrupt:
        # A blob was damaged on this disk; it is gone now.
        fetch_blobs(http, cache, files, what=what)
        return make_tree(cache, files, what=what)


def fetch_blobs(http: Transport, cache: Cache, files: Sequence[File], *, what: str) -> None:
    """Download the blobs of ``files`` that the cache lacks."""
    missing = {file.sha256: file for file in files if not cache.has(file)}
    if not missing:
        return
    with transferring(what, sum(file.size_bytes for file in missing.values())) as meter:
        for file in missing.values():
            _fetch(http, cache, file, meter)


def _fetch(http: Transport, cache: Cache, file: File, meter: Meter) -> None:
    part = cache.start_partial(file.sha256)
    resumed = part.stat().st_size
    meter.advance(resumed)
    try:
        _receive(http, file, part, meter)
        if resumed and sha256_of_file(part) != file.sha256:
            # The rest somebody left was damaged: once more from the start.
            _empty(part, meter)
            _receive(http, file, part, meter)
        cache.keep_blob(part, file.sha256)
    except BaseException:
        cache.leave_partial(part)
        raise


def _receive(http: Transport, file: File, part: Path, meter: Meter) -> None:
    """Fill ``part`` up to the file's size, going on after broken connections."""
    fruitless = 0
    while (have := part.stat().st_size) < file.size_bytes:
        try:
            _request_rest(http, file, part, meter)
        except Offline:
            raise
        except HubUnreachable:
            fruitless = 0 if part.stat().st_size > have else fruitless + 1
            if fruitless == _PATIENCE:
                raise
        else:
            break
    size = part.stat().st_size
    if size != file.size_bytes:
        _empty(part, meter)
        raise Corrupt(
            f"The hub sent {size} bytes of {file.path}, which has {file.size_bytes}.",
            "Try again; if it stays, the hub's copy is damaged.",
        )


def _request_rest(http: Transport, file: File, part: Path, meter: Meter) -> None:
    have = part.stat().st_size
    headers = {"Accept-Encoding": "identity"}
    if have:
        # The tag is the digest: other bytes under the same address are sent whole, not spliced.
        headers |= {"Range": f"bytes={have}-", "If-Range": f'"{file.sha256}"'}
    with http.open("GET", file.url, headers=headers) as response:
        spliced = response.headers.get("Content-Range", "").startswith(f"bytes {have}-")
        if not (response.status_code == 206 and spliced):
            _empty(part, meter)
        size = part.stat().st_size
        with part.open("ab") as out:
            for chunk in response.iter_bytes():
                out.write(chunk)
                meter.advance(len(chunk))
                size += len(chunk)
                if size > file.size_bytes:  # never fill a disk because a server does not stop
                    return


def _empty(part: Path, meter: Meter) -> None:
    meter.advance(-part.stat().st_size)
    part.write_bytes(b"")
