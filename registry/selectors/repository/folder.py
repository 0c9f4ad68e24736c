"""One folder of a revision, as people look through it."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Case, Count, F, Max, QuerySet, Sum, Value, When
from django.db.models.functions import StrIndex, Substr

from registry.errors import Invalid, NotFound
from registry.tables import File, Revision
from registry.validation.texts import unseen

#: Entries shown at once; a data set's folder may hold very many.
PAGE = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder.

    Attributes:
        file: Its row; ``None`` for a folder.
        files: How many files are in it.
        changed_in: The revision that last put a file there.
    """

    name: str
    path: str
    file: File | None
    files: int
    size_bytes: int
    changed_in: Revision


@dataclass(frozen=True, slots=True)
class Folder:
    """A part of a folder's entries: folders first, each sort by name.

    Attributes:
        total: Number of its entries.
        page: The part's number, from 1.
        pages: How many parts there are.
    """

    path: str
    entries: list[Entry]
    total: int
    page: int
    pages: int


def folder_get(revision: Revision, path: str, *, page: str = "1") -> Folder:
    """The entries directly in ``path``, "" for the top.

    Raises:
        NotFound: ``file_not_found`` if there is no such folder.
        Invalid: ``invalid_cursor``.
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
    """One row for each entry: its name, whether it is a file, how much is in it, since when."""
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


def _entries(revision: Revision, path: str, shown: list[dict[str, Any]]) -> list[Entry]:
    prefix = f"{path}/" if path else ""
    paths = [f"{prefix}{row['name']}" for row in shown if row["is_file"]]
    files = {
        file.path: file for file in revision.files.filter(path__in=paths).select_related("blob")
    }
    changes = Revision.objects.select_related("author").in_bulk({row["changed"] for row in shown})
    return [
        Entry(
            name=row["name"],
            path=f"{prefix}{row['name']}",
            file=files.get(f"{prefix}{row['name']}") if row["is_file"] else None,
            files=row["files"],
            size_bytes=row["size"],
            changed_in=changes[row["changed"]],
        )
        for row in shown
    ]
