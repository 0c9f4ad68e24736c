"""Files of a revision: a folder, a file, its raw bytes."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render

from hub import files as served
from hub.pages.frame import frame, repository_page
from registry.selectors.repository.folder import folder_get
from registry.selectors.repository.gate import require_fetch
from registry.selectors.repository.revision import file_get, pulls_of, revision_along, text_of
from registry.selectors.repository.weights import weights_of
from registry.tables import MLModel
from registry.validation.texts import unseen

#: Longer texts have no preview.
PREVIEW_BYTES = 200_000
_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


@repository_page
def tree(request: HttpRequest, mlmodel: MLModel, place: str) -> HttpResponseBase:
    """A folder: its entries, with the last change of each."""
    name, revision, path = revision_along(mlmodel, place.rstrip("/"))
    context = frame(request, mlmodel, tab="files", revision=revision, revision_name=name)
    context |= {
        "folder": folder_get(revision, path, page=request.GET.get("page", "1")),
        "pulls": pulls_of(mlmodel),
        **_crumbs(path),
    }
    return render(request, "mlmodel/files.html", context)


@repository_page
def blob(request: HttpRequest, mlmodel: MLModel, place: str) -> HttpResponseBase:
    """A file: digests, a preview of texts and images, and facts of weights."""
    name, revision, path = revision_along(mlmodel, place.rstrip("/"))
    context = frame(request, mlmodel, tab="files", revision=revision, revision_name=name)
    row = file_get(revision, path)
    context |= {"file": row, "pulls": pulls_of(mlmodel), **_crumbs(path)}
    if context["may_fetch"]:
        text = text_of(revision, path, most_bytes=PREVIEW_BYTES)
        # Binary files may happen to be valid UTF-8.
        context["text"] = None if text is None or unseen(text, but="\t\n\f\r") else text
        context["is_image"] = path.lower().endswith(_IMAGES)
        context["weights"] = weights_of(row)
    return render(request, "mlmodel/file.html", context)


@repository_page
def raw(request: HttpRequest, mlmodel: MLModel, place: str) -> HttpResponseBase:
    """The bytes of a file."""
    require_fetch(request.user, mlmodel)
    _, revision, path = revision_along(mlmodel, place.rstrip("/"))
    return served.file_response(request, file_get(revision, path), revision)


def _crumbs(path: str) -> dict[str, Any]:
    parts = path.split("/") if path else []
    return {
        "path": path,
        "crumbs": [(part, "/".join(parts[: place + 1])) for place, part in enumerate(parts)],
    }
