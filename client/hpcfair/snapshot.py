"""Downloads all files of a revision."""

from dataclasses import asdict
from pathlib import Path

from hpcfair.cache import Cache
from hpcfair.checkout import checkout
from hpcfair.digest import sha256_of_json
from hpcfair.download import fetch_tree
from hpcfair.mlmodel import info
from hpcfair.paths import is_commit
from hpcfair.revision import revision
from hpcfair.transport import Transport
from hpcfair.types import Revision


def snapshot(
    http: Transport, cache: Cache, name: str, rev: str | None = None
) -> tuple[Revision, Path]:
    """A revision and the folder in the cache with its files, which must not be changed."""
    commit = _find(http, cache, name, rev)
    return commit, fetch_tree(http, cache, commit.files, what=name)


def pull(
    http: Transport, cache: Cache, name: str, folder: Path, rev: str | None = None
) -> Revision:
    """Copy the files of a revision into a folder, atomically; other files are not touched."""
    commit = _find(http, cache, name, rev)
    checkout(http, cache, commit.files, folder, what=name)
    return commit


def _find(http: Transport, cache: Cache, name: str, rev: str | None) -> Revision:
    """The revision of that name; for a commit id, what the hub said of it before counts."""
    if not is_commit(rev):
        return revision(http, name, rev or info(http, name).default_branch)
    key = sha256_of_json({"hub": http.config.url, "files_of": name, "revision": rev})
    if stored := cache.answer(key):
        return Revision.from_json(stored)
    commit = revision(http, name, str(rev))
    cache.keep_answer(key, asdict(commit))
    return commit
