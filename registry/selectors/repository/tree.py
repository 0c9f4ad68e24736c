"""A revision's files as a tree, in pages.

Paths are ordered bytewise in every database: an entry comes after its folder, and a page continues
after the last path of the previous one. The costs of a page grow with its length and with the size
of the folders that it shows, not with the number of files in others.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.db.models import Max, QuerySet, Sum

from registry.errors import NotFound
from registry.pagination import Page, decode_cursor, encode_cursor
from registry.selectors.repository.storedtree import folder_entries, folder_oids
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
    read = _below if recursive else _directly_in
    entries = read(revision, folder, after, limit + 1)
    if entries is None:
        detail = f"Revision {revision.oid[:10]} has no folder {folder[:200]!r}."
        raise NotFound("file_not_found", detail)
    if len(entries) <= limit:
        return Page(entries, None)
    return Page(entries[:limit], encode_cursor([entries[limit - 1].path], _CURSORS))


def entries_at(revision: Revision, paths: Sequence[str]) -> list[TreeEntry]:
    """The files and folders at ``paths``, in that order; missing paths are left out."""
    paths = list(dict.fromkeys(path.strip("/") for path in paths if not unseen(path)))
    entries = {row.path: _entry(row) for row in _files_at(revision, paths)}
    others = [path for path in paths if path and path not in entries]
    for path, oid in folder_oids(revision, others).items():
        entries[path] = TreeEntry(path, oid, None)
    return [entries[path] for path in paths if path in entries]


def changes_of(revision: Revision, entries: Iterable[TreeEntry]) -> dict[str, Revision]:
    """Path to the revision that last changed the file, or a file in the folder."""
    # One statement for each folder, of which a page has few.
    changed = {
        entry.path: entry.file.changed_in_id
        if entry.file
        else _files_below(revision, f"{entry.path}/").aggregate(at=Max("changed_in_id"))["at"]
        for entry in entries
    }
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
    if not path:
        return revision.size_bytes
    files = _files_below(revision, f"{path.strip('/')}/")
    return files.aggregate(size=Sum("blob__size_bytes"))["size"] or 0


def files_between(revision: Revision, first: str, end: str) -> QuerySet[File]:
    """The files whose path is after ``first`` and before ``end``."""
    return revision.files.filter(path__gt=first, path__lt=end)


def _directly_in(revision: Revision, folder: str, after: str, most: int) -> list[TreeEntry] | None:
    """The first ``most`` entries of ``folder`` after the path ``after``; ``None`` without one."""
    content = folder_entries(revision, folder)
    if content is None:
        return None
    files, folders = content
    prefix = f"{folder}/" if folder else ""
    oids = {f"{prefix}{name}": oid for name, oid in folders.items()}
    names = (f"{prefix}{name}" for name in files)
    paths = sorted(path for path in (*oids, *names) if path > after)[:most]
    rows = {row.path: row for row in _files_at(revision, [p for p in paths if p not in oids])}
    return [TreeEntry(p, oids[p], None) if p in oids else _entry(rows[p]) for p in paths]


def _below(revision: Revision, folder: str, after: str, most: int) -> list[TreeEntry] | None:
    """The first ``most`` files and folders below ``folder`` after the path ``after``; ``None``
    if there is no such folder."""
    if not folder_oids(revision, [folder]):
        return None
    prefix = f"{folder}/" if folder else ""
    rows = _files_below(revision, prefix)
    files = list(rows.filter(path__gt=after).select_related("blob").order_by("path")[:most])
    above = {one for file in files for one in _folders_above(file.path)}
    if len(files) == most:
        above |= _starts(files[-1].path)
    nearby = {path for path in above if path > after and len(path) > len(prefix)}
    entries = list(map(_entry, files))
    entries += (TreeEntry(path, oid, None) for path, oid in folder_oids(revision, nearby).items())
    return sorted(entries, key=lambda entry: entry.path)[:most]


def _starts(path: str) -> set[str]:
    """Folders that may come before ``path`` although all their files come after it, such as ``a``
    and ``a/b`` for ``a-b``: a file sorts by all of its path, in which a folder ends in "/"."""
    return {path[:place] for place in range(1, len(path)) if path[place] < "/"}


def _entry(file: File) -> TreeEntry:
    return TreeEntry(file.path, file.oid, file)


def _files_at(revision: Revision, paths: Sequence[str]) -> Iterator[File]:
    for start in range(0, len(paths), _AT_ONCE):
        rows = revision.files.filter(path__in=paths[start : start + _AT_ONCE])
        yield from rows.select_related("blob")


def _files_below(revision: Revision, prefix: str) -> QuerySet[File]:
    """The files whose path starts with ``prefix``, which is "" or ends in "/"."""
    # "0" is the character after "/".
    return files_between(revision, prefix, f"{prefix[:-1]}0") if prefix else revision.files.all()


def _folders_above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]
