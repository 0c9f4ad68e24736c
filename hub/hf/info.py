"""Information about a model or a data set: the default properties, or the requested ones."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.hf.errors import BadRequest, refuse
from hub.hf.properties import EXPANDABLE, PROPERTIES, siblings
from hub.hf.views import flag_in, json_answer
from registry.selectors.repository.details import Details
from registry.selectors.repository.revision import revision_get
from registry.states import RepositoryKind
from registry.tables import MLModel

_DEFAULT: dict[str, tuple[str, ...]] = {
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
    names = expand_of(request, mlmodel.kind)
    if names:
        return json_answer(shape_of(details, names))
    shape = shape_of(details, _DEFAULT[mlmodel.kind])
    if flag_in(request.GET, "blobs") and details.is_short:
        shape["siblings"] = siblings(details, blobs=True)
    if flag_in(request.GET, "securityStatus"):
        shape["securityRepoStatus"] = PROPERTIES["securityRepoStatus"](details)
    return json_answer(shape)


def read_only(_request: HttpRequest, _mlmodel: MLModel) -> HttpResponse:
    """405: other methods than ``GET`` have addresses below. A missing repository comes first."""
    response = refuse(405, "Use one of GET, HEAD.")
    response.headers["Allow"] = "GET, HEAD"
    return response


def shape_of(details: Details, names: Iterable[str]) -> dict[str, Any]:
    """The id and the properties ``names``, without those that have no value."""
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
    """The names in ``expand``, empty for the default. Raises ``BadRequest`` for an unknown one."""
    names = [*request.GET.getlist("expand"), *request.GET.getlist("expand[]")]
    for name in names:
        if name not in EXPANDABLE[kind]:
            choices = ", ".join(sorted(EXPANDABLE[kind]))
            raise BadRequest(f"{name[:100]!r} cannot be expanded; choose among {choices}.")
    return list(dict.fromkeys(names))
