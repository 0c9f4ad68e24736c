"""What is told about a model or a data set: all of it, or the properties that are asked for."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.hf.errors import BadRequest
from hub.hf.properties import EXPANDABLE, PROPERTIES
from hub.hf.shapes import sibling
from hub.hf.views import flag_in, json_answer
from registry.selectors.repository.details import Details
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel

_TOLD: dict[str, tuple[str, ...]] = {
    RepositoryKind.MODEL: (
        *("author", "sha", "lastModified", "createdAt", "private", "gated", "disabled"),
        *("downloads", "likes", "tags", "pipeline_tag", "library_name", "model-index", "cardData"),
        *("config", "transformersInfo", "safetensors", "siblings", "spaces", "usedStorage"),
    ),
    RepositoryKind.DATASET: (
        *("author", "sha", "lastModified", "createdAt", "private", "gated", "disabled"),
        *("downloads", "likes", "tags", "description", "paperswithcode_id", "cardData"),
        *("siblings", "usedStorage"),
    ),
}


def info(request: HttpRequest, mlmodel: MLModel, rest: str | None = None) -> HttpResponse:
    """``GET /api/{kind}/{id}[/revision/{revision}]``."""
    details = Details(mlmodel, revision_get(mlmodel, rest))
    wanted = expand_of(request, mlmodel.kind)
    if wanted:
        return json_answer(told(details, wanted))
    shape = told(details, _TOLD[mlmodel.kind])
    if flag_in(request.GET, "blobs"):
        shape["siblings"] = [sibling(file) for file in details.files]
    if flag_in(request.GET, "securityStatus"):
        shape["securityRepoStatus"] = {"scansDone": False, "filesWithIssues": []}
    return json_answer(shape)


def told(details: Details, names: Iterable[str]) -> dict[str, Any]:
    """The id, and of the properties ``names`` those that are known."""
    mlmodel = details.mlmodel
    shape: dict[str, Any] = {"_id": mlmodel.uuid.hex[:24], "id": mlmodel.full_name}
    if mlmodel.kind == RepositoryKind.MODEL:
        shape["modelId"] = mlmodel.full_name
    for name in names:
        value = PROPERTIES[name](details) if name in PROPERTIES else None
        if value is not None:
            shape[name] = value
    return shape


def expand_of(request: HttpRequest, kind: str) -> list[str]:
    """The properties that are asked for by name; none: the usual ones.

    Raises:
        BadRequest: one of them is none of this kind's.
    """
    wanted = [*request.GET.getlist("expand"), *request.GET.getlist("expand[]")]
    for name in wanted:
        if name not in EXPANDABLE[kind]:
            known = ", ".join(sorted(EXPANDABLE[kind]))
            raise BadRequest(f"{name[:100]!r} cannot be expanded; choose among {known}.")
    return list(dict.fromkeys(wanted))
