"""Differences between two revisions: paths, and lines of short text files."""

import difflib
from dataclasses import dataclass

from django.db.models import Exists, OuterRef

from registry.selectors.storage.blob import blob_open
from registry.tables import File, Revision
from registry.validation.texts import unseen

#: Longer files are compared by id and size only.
MAX_TEXT_BYTES = 200_000
# The comparison is quadratic in the number of lines in the worst case.
_MAX_LINES = 5_000
_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs: ``before`` is ``None`` if it is new, ``after`` if it was deleted."""

    path: str
    before: File | None
    after: File | None

    @property
    def verb(self) -> str:
        """``added``, ``changed`` or ``deleted``."""
        if self.before is None:
            return "added"
        return "changed" if self.after is not None else "deleted"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first of the paths that differ, in order, and their total number."""

    changes: list[Change]
    total: int


def difference(before: Revision | None, after: Revision, *, limit: int = 300) -> Difference:
    """The paths that differ between two revisions of one MLModel; ``None`` has no files."""
    old = before.files.all() if before is not None else File.objects.none()
    same = old.filter(path=OuterRef("path"), oid=OuterRef("oid"))
    put = after.files.exclude(Exists(same)).select_related("blob").order_by("path")
    gone = old.exclude(Exists(after.files.filter(path=OuterRef("path")))).order_by("path")
    new = list(put[:limit])
    replaced = old.filter(path__in=[file.path for file in new]).select_related("blob")
    previous = {file.path: file for file in replaced}
    changes = [Change(file.path, previous.get(file.path), file) for file in new]
    changes += [Change(file.path, file, None) for file in gone.select_related("blob")[:limit]]
    changes.sort(key=lambda change: change.path)
    return Difference(changes[:limit], put.count() + gone.count())


def lines_of(change: Change) -> list[str] | None:
    """The change as a unified diff without its header; ``None`` for binary or long files."""
    old, new = _lines(change.before), _lines(change.after)
    if old is None or new is None:
        return None
    lines = difflib.unified_diff(old, new, lineterm="", n=_CONTEXT)
    return [line for number, line in enumerate(lines) if number > 1]


def _lines(file: File | None) -> list[str] | None:
    if file is None:
        return []
    if file.blob.size_bytes > MAX_TEXT_BYTES:
        return None
    with blob_open(file.blob) as stream:
        try:
            text = stream.read().decode()
        except UnicodeDecodeError:
            return None
    lines = text.splitlines()
    return None if len(lines) > _MAX_LINES or unseen(text, but="\t\n\f\r") else lines
