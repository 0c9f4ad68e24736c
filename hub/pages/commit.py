"""History: the revisions of a line, and what one of them changed."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.addresses import newest_first
from hub.pages.frame import frame, repository_page
from registry.selectors.repository.difference import Change, Difference, difference, lines_of
from registry.selectors.repository.revision import history as history_of
from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel, Revision

# Bytes of the texts compared for one page.
_MOST_COMPARED = 1_000_000


@repository_page
def history(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Revisions, newest first."""
    context = frame(request, mlmodel, tab="history")
    rows = history_of(mlmodel, context["revision"]).select_related("author")
    shown, older = newest_first(rows, request)
    context |= {"revisions": shown, "older": older}
    return render(request, "mlmodel/history.html", context)


@repository_page
def commit(request: HttpRequest, mlmodel: MLModel, oid: str) -> HttpResponseBase:
    """One revision: who made it, why, and what it changed."""
    revision = revision_get(mlmodel, oid)
    context = frame(request, mlmodel, tab="history", revision=revision, asked=revision.oid)
    context |= changed(revision.parent, revision, readable=context["may_fetch"])
    return render(request, "mlmodel/commit.html", context)


def changed(before: Revision | None, after: Revision, *, readable: bool) -> dict[str, Any]:
    """What ``mlmodel/changes.html`` shows: the paths that differ, with their lines if the asker
    may read the files."""
    found = difference(before, after)
    return {"changes": _with_lines(found, readable=readable), "changes_total": found.total}


def _with_lines(found: Difference, *, readable: bool) -> list[dict[str, Any]]:
    left, shown = _MOST_COMPARED, []
    for change in found.changes:
        size = _size(change)
        lines = lines_of(change) if readable and size <= left else None
        left -= size if lines is not None else 0
        shown.append(
            {
                "change": change,
                "lines": [(_CLASSES.get(line[:1], ""), line) for line in lines or []],
                "is_told": lines is not None,
                "size_before": change.before.blob.size_bytes if change.before else None,
                "size_after": change.after.blob.size_bytes if change.after else None,
            }
        )
    return shown


_CLASSES = {"+": "put", "-": "gone", "@": "place"}


def _size(change: Change) -> int:
    sides = (change.before, change.after)
    return sum(side.blob.size_bytes for side in sides if side is not None)
