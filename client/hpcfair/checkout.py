"""Copies the files of a revision into a folder of the user.

Cached files are copied from the cache. Others are downloaded to the folder's file system and
renamed into place, so bytes are written once and do not fill the cache. Of a new version of a file
that is there already, or in the cache, only what differs is downloaded.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from hpcfair.cache import Cache, link_or_copy
from hpcfair.difference import cached_versions, local_ranges, version_in_place
from hpcfair.digest import sha256_of_file
from hpcfair.downloadthreads import download_all
from hpcfair.localfiles import local_files
from hpcfair.partial import STAGING, Partials
from hpcfair.paths import safe_join
from hpcfair.progress import Meter, transferring
from hpcfair.transfer import receive
from hpcfair.transport import Transport
from hpcfair.tree import find_tree
from hpcfair.types import File


def checkout(
    http: Transport, cache: Cache, files: Sequence[File], folder: Path, *, what: str
) -> None:
    """Write ``files`` into ``folder``, each atomically. Other files in the folder are not touched.

    Args:
        what: Name of the model.

    Raises:
        Corrupt: the hub's bytes differ from their digest.
        UnsafePath: the hub named a file outside the folder; nothing is written.
        HubUnreachable: bytes are missing and cannot be downloaded; the next call resumes.
        StorageFailed: the folder or the cache cannot be read or written.
    """
    with local_files(folder):
        _checkout(http, cache, files, folder, what=what)


def _checkout(
    http: Transport, cache: Cache, files: Sequence[File], folder: Path, *, what: str
) -> None:
    places = {safe_join(folder, file.path): file for file in files}
    missing = {place: file for place, file in places.items() if not _holds(place, file)}
    if not missing:
        return
    tree = find_tree(cache, files)
    partials = Partials(folder / STAGING)
    alike: dict[str, list[Path]] = defaultdict(list)
    for place, file in missing.items():
        alike[file.sha256].append(place)

    def write(places: Sequence[Path], meter: Meter) -> None:
        """Write the places of one content: one from the cache or the hub, the others from it."""
        near: Path | None = None
        for place in places:
            file = missing[place]
            source = near or (tree and safe_join(tree, file.path))
            part = source and _copied(source, partials, file, meter, hashed=True)
            part = part or _from_blob(cache, partials, file, meter)
            if part is None:
                versions = chain(version_in_place(place, file), cached_versions(cache, what, file))
                local = local_ranges(http, what, file, versions)
                part = receive(http, partials, file, meter, local)
            place.parent.mkdir(parents=True, exist_ok=True)
            part.replace(place)
            near = place

    try:
        with transferring(what, sum(file.size_bytes for file in missing.values())) as meter:
            download_all([*alike.values()], write, meter)
    finally:
        partials.tidy()


def _holds(place: Path, file: File) -> bool:
    return (
        place.is_file()
        and not place.is_symlink()
        and place.stat().st_size == file.size_bytes
        and sha256_of_file(place) == file.sha256
    )


def _from_blob(cache: Cache, partials: Partials, file: File, meter: Meter) -> Path | None:
    if not cache.has(file):
        return None
    return _copied(cache.blob(file.sha256), partials, file, meter, hashed=False)


def _copied(
    source: Path, partials: Partials, file: File, meter: Meter, *, hashed: bool
) -> Path | None:
    """A copy among ``partials``; ``None`` if ``source`` is missing or damaged. ``hashed``: whether
    its digest has been verified."""
    part = partials.start(file.sha256)
    try:
        link_or_copy(source, part, link=False)
        right = hashed or sha256_of_file(part) == file.sha256
    except FileNotFoundError:
        right = False
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    if not right:
        part.unlink(missing_ok=True)
        return None
    meter.advance(file.size_bytes)
    return part
