"""All files of a revision, here."""

import shutil
import uuid
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.download import fetch_tree
from hpcfair.mlmodel import info
from hpcfair.paths import safe_join
from hpcfair.revision import revision
from hpcfair.transport import Transport
from hpcfair.types import Revision


def snapshot(
    http: Transport, cache: Cache, name: str, rev: str | None = None
) -> tuple[Revision, Path]:
    """A revision and the folder in the cache that holds its files; they are not to be changed."""
    found = revision(http, name, rev or info(http, name).default_branch)
    return found, fetch_tree(http, cache, found.files, what=name)


def pull(
    http: Transport, cache: Cache, name: str, folder: Path, rev: str | None = None
) -> Revision:
    """Copy a revision's files into a folder, to be kept and changed.

    Files of the same name are replaced, each in one step; others are left alone.
    """
    found, source = snapshot(http, cache, name, rev)
    for file in found.files:
        place = safe_join(folder, file.path)
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary = place.with_name(f".{uuid.uuid4().hex}.part")
        try:
            shutil.copyfile(safe_join(source, file.path), temporary)
            temporary.replace(place)
        finally:
            temporary.unlink(missing_ok=True)
    return found
