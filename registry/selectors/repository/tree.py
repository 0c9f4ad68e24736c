"""A revision's files as a tree, in pages.

Paths are ordered bytewise, whatever the database's collation: an entry comes after its folder, and
a page continues after the last path of the previous one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet, Sum, Value
from django.db.models.functions import Collate, StrIndex, Substr
from django.db.models.lookups import Exact, GreaterThan, LessThan

from registry.errors import NotFound
from registry.pagination import Page, decode_cursor, encode_cursor
from registry.storage.git import folder_oids
from registry.tables import File, Revision
from registry.validation.texts import unseen

# Databases bound the number of values in one query.
_AT_ONCE = 500
_CURSORS = "tree"


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file or, if ``file`` is ``None``, a folder.

    ``oid`` is the git object id of the tree or the blob; of the pointer in large file storage.
    """

    path: str
    oid: str
    file: File | None


def tree_page(
    revision: Revision, folder: str, *, recursive: bool, cursor: str | None = None, limit: int
) -> Page[TreeEntry]:
    """The entries of ``folder`` ("" for the root) by path; ``recursive`` includes subfolders.

    Raises ``NotFound``: ``file_not_found`` if there is no such folder; ``Invalid``:
    ``invalid_cursor``.
    """
    (after,) = decode_cursor(cursor, _CURSORS) if cursor else [""]
    oids = _folder_oids(revision.uuid, revision.tree_oid)
    if folder not in oids:
        detail = f"Revision {revision.oid[:10]} has no folder {folder[:200]!r}."
        raise NotFound("file_not_found", detail)
    prefix = f"{folder}/" if folder else ""
    below = (path for path in oids if path > after and path.startswith(prefix) and path != folder)
    if not recursive:
        below = (path for path in below if "/" not in path[len(prefix) :])
    files = _files_below(revision, prefix, recursive=recursive)
    if after:
        files = files.filter(GreaterThan(_bytewise_path(), after))
    entries = [TreeEntry(path, oids[path], None) for path in below if path]
    entries += map(_entry, files.select_related("blob").order_by(_bytewise_path())[: limit + 1])
    entries.sort(key=lambda entry: entry.path)
    if len(entries) <= limit:
        return Page(entries, None)
    return Page(entries[:limit], encode_cursor([entries[limit - 1].path], _CURSORS))


def entries_at(revision: Revision, paths: Sequence[str]) -> list[TreeEntry]:
    """The files and folders at ``paths``, in that order; missing paths are left out."""
    oids = _folder_oids(revision.uuid, revision.tree_oid)
    paths = list(dict.fromkeys(path.strip("/") for path in paths if not unseen(path)))
    entries: dict[str, TreeEntry] = {
        path: TreeEntry(path, oids[path], None) for path in paths if path and path in oids
    }
    for start in range(0, len(paths), _AT_ONCE):
        rows = revision.files.filter(path__in=paths[start : start + _AT_ONCE])
        entries |= {row.path: _entry(row) for row in rows.select_related("blob")}
    return [entries[path] for path in paths if path in entries]


def changes_of(revision: Revision, entries: Iterable[TreeEntry]) -> dict[str, Revision]:
    """Path to the revision that last changed the file, or a file in the folder."""
    changed = {entry.path: entry.file.changed_in_id if entry.file else 0 for entry in entries}
    folders = [path for path, number in changed.items() if number == 0]
    if folders:
        # The folders of one page are close together, so the range has few other files.
        first, end = min(folders), max(f"{folder}0" for folder in folders)
        within = GreaterThan(_bytewise_path(), first), LessThan(_bytewise_path(), end)
        rows = revision.files.filter(*within).values_list("path", "changed_in_id")
        for path, number in rows.iterator(chunk_size=2000):
            for folder in _folders_above(path):
                if folder in changed:
                    changed[folder] = max(changed[folder], number)
    revisions = Revision.objects.in_bulk(set(changed.values()))
    return {path: revisions[number] for path, number in changed.items() if number in revisions}


def bytes_below(revision: Revision, path: str) -> int:
    """Total bytes of the files in folder ``path`` ("" for the root), or of the file at ``path``.

    Raises ``NotFound``: ``file_not_found``.
    """
    entries = entries_at(revision, [path]) if path else []
    if path and not entries:
        detail = f"Revision {revision.oid[:10]} has nothing at {path[:200]!r}."
        raise NotFound("file_not_found", detail)
    if entries and entries[0].file:
        return entries[0].file.blob.size_bytes
    files = _files_below(revision, f"{path.strip('/')}/" if path else "", recursive=True)
    return files.aggregate(size=Sum("blob__size_bytes"))["size"] or 0


def _entry(file: File) -> TreeEntry:
    return TreeEntry(file.path, file.oid, file)


def _files_below(revision: Revision, prefix: str, *, recursive: bool) -> QuerySet[File]:
    """The files whose path starts with ``prefix``, which is "" or ends in "/"."""
    files = revision.files.all()
    if prefix:
        # "0" is the character after "/".
        within = (
            GreaterThan(_bytewise_path(), prefix),
            LessThan(_bytewise_path(), f"{prefix[:-1]}0"),
        )
        files = files.filter(*within)
    if not recursive:
        rest = Substr("path", len(prefix) + 1)
        files = files.filter(Exact(StrIndex(rest, Value("/")), 0))
    return files


def _bytewise_path() -> Collate:
    """The column ``path`` in a collation that compares bytes."""
    return Collate("path", "BINARY" if connection.vendor == "sqlite" else "C")


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


# Cached, since all pages of a list need it. The key holds the root's tree id, which identifies
# the content.
@lru_cache(maxsize=16)
def _folder_oids(revision: UUID, tree_oid: str) -> dict[str, str]:  # noqa: ARG001
    rows = File.objects.filter(revision__uuid=revision).values_list("path", "oid")
    return folder_oids(rows.iterator(chunk_size=2000))
