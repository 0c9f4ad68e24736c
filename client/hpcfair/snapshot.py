"""All files of a revision, here."""

from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.checkout import checkout
from hpcfair.download import fetch_tree
from hpcfair.mlmodel import info
from hpcfair.revision import revision
from hpcfair.transport import Transport
from hpcfair.types import Revision


def snapshot(
    http: Transport, cache: Cache, name: str, rev: str | None = None
) -> tuple[Revision, Path]:
    """A revision and the folder in the cache that holds its files; they are not to be changed."""
    found = _find(http, name, rev)
    return found, fetch_tree(http, cache, found.files, what=name)


def pull(
    http: Transport, cache: Cache, name: str, folder: Path, rev: str | None = None
) -> Revision:
    """Copy a revision's files into a folder, to be kept and changed.

    Files of the same name are replaced, each in one step; others are left alone.
    """
    found = _find(http, name, rev)
    checkout(http, cache, found.files, folder, what=name)
    return found


def _find(http: Transport, name: str, rev: str | None) -> Revision:
    return revision(http, name, rev or info(http, name).default_branch)
