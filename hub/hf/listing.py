"""Lists of models and of data sets."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of
from hub.hf.address import cursor_of, whole_number, with_next
from hub.hf.errors import BadRequest
from hub.hf.filters import (
    gated_in,
    is_served_in,
    labels_of_apps,
    parameters_in,
    refuse_filters_of_models,
)
from hub.hf.info import expand_of, shape_of
from hub.hf.views import KINDS, flag_in, json_answer
from registry.selectors.search.listing import Listing, details_of, labels_in_use, listing_page
from registry.states import RepositoryKind

_PAGE = 1000
#: Page size where files of each repository have to be read.
_COSTLY_PAGE = 100
_COSTLY = {"config", "safetensors", "transformersInfo", "siblings", "mainSize"} | {
    "childrenModelCount"
}
#: Each filter is a subquery.
_MOST_FILTERS = 20
#: There is no trending score: likes are used instead.
_ORDERS = {
    "createdAt": "created_at",
    "lastModified": "updated_at",
    "likes": "likes",
    "downloads": "downloads",
    "trendingScore": "likes",
}
#: Default properties of each repository, and those that ``full`` adds.
_DEFAULT: dict[str, tuple[str, ...]] = {
    RepositoryKind.MODEL: (
        *("likes", "trendingScore", "private", "downloads", "tags", "pipeline_tag"),
        *("library_name", "createdAt"),
    ),
    RepositoryKind.DATASET: (
        *("author", "sha", "lastModified", "private", "gated", "disabled", "tags", "description"),
        *("downloads", "likes", "trendingScore", "createdAt"),
    ),
}
_FULL: dict[str, tuple[str, ...]] = {
    RepositoryKind.MODEL: ("author", "sha", "lastModified", "gated", "disabled", "siblings"),
    RepositoryKind.DATASET: ("siblings", "cardData"),
}
#: Names of label kinds in this protocol, where they differ.
_TAG_TYPES = {"format": "library"}


def listing(request: HttpRequest, kind: str) -> HttpResponse:
    """``GET /api/{kind}``."""
    query = _query(request, KINDS[kind])
    names = _names(request, KINDS[kind])
    most = _COSTLY_PAGE if _COSTLY & set(names) else _PAGE
    page = listing_page(
        actor_of(request),
        query,
        cursor=cursor_of(request),
        limit=whole_number(request, "limit", most, most=most) or most,
    )
    rows = details_of(page.items, with_paths="siblings" in names)
    response = json_answer([shape_of(details, names) for details in rows])
    return with_next(request, response, page.next)


def tags_by_type(_request: HttpRequest, kind: str) -> HttpResponse:
    """``GET /api/{kind}-tags-by-type``."""
    shape: dict[str, list[dict[str, Any]]] = {}
    for label_kind, value in labels_in_use(KINDS[kind]):
        name = _TAG_TYPES.get(label_kind, label_kind)
        shape.setdefault(name, []).append({"id": value, "label": value, "type": name})
    return json_answer(shape)


def _query(request: HttpRequest, kind: RepositoryKind) -> Listing:
    parameters = request.GET
    order = parameters.get("sort", "lastModified")
    if order not in _ORDERS:
        raise BadRequest(f"Lists are sorted by one of {', '.join(_ORDERS)}.")
    words, labels = parameters.getlist("search"), parameters.getlist("filter")
    if max(len(words), len(labels)) > _MOST_FILTERS:
        raise BadRequest(f"Use at most {_MOST_FILTERS} of 'search' and of 'filter'.")
    if kind == RepositoryKind.DATASET:
        refuse_filters_of_models(parameters)
    return Listing(
        kind=kind,
        words=words,
        author=parameters.get("author", ""),
        labels=[*labels, *labels_of_apps(parameters)],
        task=parameters.get("pipeline_tag", ""),
        gated=gated_in(parameters),
        parameters=parameters_in(parameters),
        is_served=is_served_in(parameters),
        order=_ORDERS[order],
    )


def _names(request: HttpRequest, kind: RepositoryKind) -> list[str]:
    expanded = expand_of(request, kind)
    if expanded:
        return expanded
    names = [*_DEFAULT[kind], *(_FULL[kind] if flag_in(request.GET, "full") else ())]
    names += [name for name in ("cardData", "config") if flag_in(request.GET, name)]
    return list(dict.fromkeys(names))
