"""One folder of a revision, in pages for people."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Max, QuerySet, Sum, Value, When
from django.db.models.functions import StrIndex, Substr

from registry.errors import Invalid, NotFound
from registry.tables import File, Revision
from registry.validation.texts import unseen

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
    rows = _grouped(revision, path)
    total = rows.count()
    if not total and path:
        detail = f"Revision {revision.oid[:10]} has no folder {path[:200]!r}."
        raise NotFound("file_not_found", detail)
    pages = max(1, -(-total // PAGE))
    if not (page.isascii() and page.isdigit() and len(page) < 10 and 1 <= int(page) <= pages):
        raise Invalid("invalid_cursor", f"The folder has {pages} pages, and no {page[:20]!r}.")
    first = (int(page) - 1) * PAGE
    shown = list(rows[first : first + PAGE])
    return Folder(path, _entries(revision, path, shown), total, int(page), pages)


def _grouped(revision: Revision, path: str) -> "QuerySet[Any, Any]":
    """One row for each entry: name, whether it is a file, number of files, bytes, last change."""
    prefix = f"{path}/" if path else ""
    files = revision.files.all() if not unseen(path) else revision.files.none()
    if prefix:
        # Not startswith, which compares without case on SQLite.
        files = files.annotate(head=Substr("path", 1, len(prefix))).filter(head=prefix)
    return (
        files.annotate(rest=Substr("path", len(prefix) + 1))
        .annotate(slash=StrIndex("rest", Value("/")))
        .annotate(
            name=Case(When(slash=0, then=F("rest")), default=Substr("rest", 1, F("slash") - 1)),
            is_file=Case(When(slash=0, then=Value(1)), default=Value(0)),
        )
        .values("name", "is_file")
        .annotate(files=Count("pk"), size=Sum("blob__size_bytes"), changed=Max("changed_in_id"))
        .order_by("is_file", "name")
    )


def _entries(revision: Revision, path: str, shown: list[dict[str, Any]]) -> list[FolderEntry]:
    prefix = f"{path}/" if path else ""
    paths = [f"{prefix}{row['name']}" for row in shown if row["is_file"]]
    files = {
        file.path: file for file in revision.files.filter(path__in=paths).select_related("blob")
    }
    changes = Revision.objects.select_related("author").in_bulk({row["changed"] for row in shown})
    return [
        FolderEntry(
            name=row["name"],
            path=f"{prefix}{row['name']}",
            file=files.get(f"{prefix}{row['name']}") if row["is_file"] else None,
            files=row["files"],
            size_bytes=row["size"],
            changed_in=changes[row["changed"]],
        )
        for row in shown
    ]
