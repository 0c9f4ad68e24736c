"""History of a branch, and the changes of one revision."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub.pages.addresses import newest_first
from hub.pages.frame import frame, repository_page
from registry.selectors.repository.difference import Change, Difference, difference, lines_of
from registry.selectors.repository.revision import history as history_of
from registry.selectors.repository.revision import revision_get
from registry.tables import MLModel, Revision

# Upper bound of the bytes of text compared for one page.
_MOST_COMPARED = 1_000_000


@repository_page
def history(request: HttpRequest, mlmodel: MLModel) -> HttpResponseBase:
    """Revisions, newest first."""
    context = frame(request, mlmodel, tab="history")
    rows = history_of(mlmodel, context["revision"]).select_related("author", "parent")
    shown, older = newest_first(rows, request)
    context |= {"revisions": shown, "older": older}
    return render(request, "mlmodel/history.html", context)


@repository_page
def commit(request: HttpRequest, mlmodel: MLModel, oid: str) -> HttpResponseBase:
    """A revision: author, message and changes."""
    revision = revision_get(mlmodel, oid)
    context = frame(request, mlmodel, tab="history", revision=revision, revision_name=revision.oid)
    context |= changed(revision.parent, revision, readable=context["may_fetch"])
    return render(request, "mlmodel/commit.html", context)


def changed(before: Revision | None, after: Revision, *, readable: bool) -> dict[str, Any]:
    """Context of ``mlmodel/changes.html``: the changed paths, with their lines if ``readable``."""
    changes = difference(before, after)
    return {"changes": _with_lines(changes, readable=readable), "changes_total": changes.total}


def _with_lines(changes: Difference, *, readable: bool) -> list[dict[str, Any]]:
    left, shown = _MOST_COMPARED, []
    for change in changes.changes:
        size = _size(change)
        lines = lines_of(change) if readable and size <= left else None
        left -= size if lines is not None else 0
        shown.append(
            {
                "change": change,
                "lines": [(_CLASSES.get(line[:1], ""), line) for line in lines or []],
                "has_lines": lines is not None,
                "size_before": change.before.blob.size_bytes if change.before else None,
                "size_after": change.after.blob.size_bytes if change.after else None,
            }
        )
    return shown


_CLASSES = {"+": "put", "-": "gone", "@": "place"}


def _size(change: Change) -> int:
    sides = (change.before, change.after)
    return sum(side.blob.size_bytes for side in sides if side is not None)
