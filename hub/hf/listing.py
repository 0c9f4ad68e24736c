"""Lists of models and of data sets."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of
from hub.hf.address import cursor_of, whole_number, with_next
from hub.hf.errors import BadRequest
from hub.hf.info import expand_of, told
from hub.hf.views import KINDS, flag_in, json_answer
from registry.selectors.search.listing import Listing, details_of, labels_in_use, listing_page
from registry.states import RepositoryKind

_PAGE = 1000
#: Where files have to be opened for each.
_COSTLY_PAGE = 100
_COSTLY = {"config", "safetensors", "transformersInfo", "siblings", "mainSize"}
#: Each is a subquery of its own.
_MOST_FILTERS = 20
#: No trend is counted here: likes stand for it.
_ORDERS = {
    "createdAt": "created_at",
    "lastModified": "updated_at",
    "likes": "likes",
    "downloads": "downloads",
    "trendingScore": "likes",
}
#: What is told of each without being asked for, and what ``full`` adds.
_TOLD: dict[str, tuple[str, ...]] = {
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
#: What clients call the formats of files.
_TAG_TYPES = {"format": "library"}


def listing(request: HttpRequest, kind: str) -> HttpResponse:
    """``GET /api/{kind}``."""
    wanted = _wanted(request, KINDS[kind])
    names = _names(request, KINDS[kind])
    most = _COSTLY_PAGE if _COSTLY & set(names) else _PAGE
    page = listing_page(
        actor_of(request),
        wanted,
        cursor=cursor_of(request),
        limit=whole_number(request, "limit", most, most=most) or most,
    )
    rows = details_of(page.items, with_paths="siblings" in names)
    response = json_answer([told(details, names) for details in rows])
    return with_next(request, response, page.next)


def tags_by_type(_request: HttpRequest, kind: str) -> HttpResponse:
    """``GET /api/{kind}-tags-by-type``."""
    shape: dict[str, list[dict[str, Any]]] = {}
    for label_kind, value in labels_in_use(KINDS[kind]):
        name = _TAG_TYPES.get(label_kind, label_kind)
        shape.setdefault(name, []).append({"id": value, "label": value, "type": name})
    return json_answer(shape)


def _wanted(request: HttpRequest, kind: RepositoryKind) -> Listing:
    given = request.GET
    order = given.get("sort", "lastModified")
    if order not in _ORDERS:
        raise BadRequest(f"Lists are sorted by one of {', '.join(_ORDERS)}.")
    words, labels = given.getlist("search"), given.getlist("filter")
    if max(len(words), len(labels)) > _MOST_FILTERS:
        raise BadRequest(f"Give at most {_MOST_FILTERS} of 'search' and of 'filter'.")
    return Listing(
        kind=kind,
        words=words,
        author=given.get("author", ""),
        labels=labels,
        task=given.get("pipeline_tag", ""),
        gated=flag_in(given, "gated") if "gated" in given else None,
        order=_ORDERS[order],
    )


def _names(request: HttpRequest, kind: RepositoryKind) -> list[str]:
    wanted = expand_of(request, kind)
    if wanted:
        return wanted
    names = [*_TOLD[kind], *(_FULL[kind] if flag_in(request.GET, "full") else ())]
    names += [name for name in ("cardData", "config") if flag_in(request.GET, name)]
    return list(dict.fromkeys(names))
