"""One folder of a revision, in pages for people."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, Sum, Value
from django.db.models.functions import StrIndex, Substr

from registry.errors import Invalid, NotFound
from registry.selectors.repository.storedtree import folder_entries
from registry.selectors.repository.tree import files_between
from registry.tables import File, Revision

#: Entries of one page; a data set's folder may hold very many.
PAGE = 500


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file or a folder.

    Attributes:
        file: Its row; ``None`` for a folder.
        files: Number of files in it.
        changed_in: The revision that last added or changed a file there.
    """

    name: str
    path: str
    file: File | None
    files: int
    size_bytes: int
    changed_in: Revision


@dataclass(frozen=True, slots=True)
class Folder:
    """One page of a folder's entries: folders first, each kind by name.

    ``total`` is the number of all entries, ``page`` counts from 1 to ``pages``.
    """

    path: str
    entries: list[FolderEntry]
    total: int
    page: int
    pages: int


def folder_get(revision: Revision, path: str, *, page: str = "1") -> Folder:
    """The entries directly in ``path``, "" for the root.

    Raises ``NotFound``: ``file_not_found`` if there is no such folder; ``Invalid``:
    ``invalid_cursor``.
    """
    entries = folder_entries(revision, path)
    if entries is None:
        detail = f"Revision {revision.oid[:10]} has no folder {path[:200]!r}."
        raise NotFound("file_not_found", detail)
    files, folders = entries
    names = [*sorted(folders), *sorted(files)]
    total = len(names)
    pages = max(1, -(-total // PAGE))
    if not (page.isascii() and page.isdigit() and len(page) < 10 and 1 <= int(page) <= pages):
        raise Invalid("invalid_cursor", f"The folder has {pages} pages, and no {page[:20]!r}.")
    first = (int(page) - 1) * PAGE
    shown = names[first : first + PAGE]
    rows = _sums(revision, path, [name for name in shown if name in folders])
    rows += _rows(revision, path, [name for name in shown if name not in folders])
    return Folder(path, _with_changes(rows), total, int(page), pages)


def _sums(revision: Revision, path: str, names: list[str]) -> list[dict[str, Any]]:
    """Name, number of files, bytes and last change of these folders in ``path``, in their order."""
    if not names:
        return []
    prefix = f"{path}/" if path else ""
    # "0" is the character after "/". The folders are adjacent, so the range has few other files.
    files = files_between(revision, f"{prefix}{names[0]}/", f"{prefix}{names[-1]}0")
    grouped = (
        files.annotate(rest=Substr("path", len(prefix) + 1))
        .annotate(slash=StrIndex("rest", Value("/")))
        .filter(slash__gt=0)
        .annotate(name=Substr("rest", 1, F("slash") - 1))
        .values("name")
        .annotate(files=Count("pk"), size=Sum("blob__size_bytes"), changed=Max("changed_in_id"))
    )
    rows = {row["name"]: row for row in grouped}
    return [{**rows[name], "path": f"{prefix}{name}", "file": None} for name in names]


def _rows(revision: Revision, path: str, names: list[str]) -> list[dict[str, Any]]:
    """The same values of files in ``path``."""
    prefix = f"{path}/" if path else ""
    rows = revision.files.filter(path__in=[f"{prefix}{name}" for name in names])
    files = {file.path: file for file in rows.select_related("blob")}
    return [
        {
            "name": name,
            "path": file.path,
            "file": file,
            "files": 1,
            "size": file.blob.size_bytes,
            "changed": file.changed_in_id,
        }
        for name in names
        if (file := files.get(f"{prefix}{name}")) is not None
    ]


def _with_changes(rows: list[dict[str, Any]]) -> list[FolderEntry]:
    changes = Revision.objects.select_related("author").in_bulk({row["changed"] for row in rows})
    return [
        FolderEntry(
            name=row["name"],
            path=row["path"],
            file=row["file"],
            files=row["files"],
            size_bytes=row["size"],
            changed_in=changes[row["changed"]],
        )
        for row in rows
    ]
