"""Short lists for search boxes, and the tasks with their models."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from hub.credentials import actor_of
from hub.hf.address import whole_number
from hub.hf.errors import BadRequest
from hub.hf.views import json_answer
from registry.selectors.people.account import namespaces_matching
from registry.selectors.search.listing import Listing, listing_page, models_by_task
from registry.states import NamespaceKind, RepositoryKind
from registry.tables import Namespace

_USUAL, _MOST = 5, 20
_REPOSITORIES = {"model": RepositoryKind.MODEL, "dataset": RepositoryKind.DATASET}
_NAMESPACES = {"user": NamespaceKind.USER, "org": NamespaceKind.ORGANISATION}
#: Types of results that this hub does not have.
_WITHOUT = ("space", "paper", "collection", "bucket")
_TYPES = (*_REPOSITORIES, *_NAMESPACES, *_WITHOUT)
_MODELS_OF_TASK = 5


def quicksearch(request: HttpRequest) -> HttpResponse:
    """``GET /api/quicksearch``: the most liked repositories, and people, whose names have ``q``.

    ``type`` selects kinds of results, and may be repeated; ``limit`` is for each kind.
    """
    word = request.GET.get("q", "")
    chosen = [name for name in request.GET.getlist("type") if name != "all"] or list(_TYPES)
    for name in chosen:
        if name not in _TYPES:
            raise BadRequest(
                f"Invalid type {name[:50]!r}: must be one of all, {', '.join(_TYPES)}."
            )
    limit = whole_number(request, "limit", _USUAL, most=_MOST)
    shape: dict[str, Any] = {"q": word}
    for name in _TYPES:
        rows = _results(request, name, word, limit) if name in chosen and limit else []
        shape |= {f"{name}s": rows, f"{name}sCount": len(rows)}
    return json_answer(shape)


def tasks(_request: HttpRequest) -> HttpResponse:
    """``GET /api/tasks``: the tasks of public models, each with its most liked models.

    ``widgetModels`` are empty: no inference provider serves models of this hub.
    """
    return json_answer(
        {
            task: {
                "id": task,
                "label": task.replace("-", " ").title(),
                "summary": "",
                "models": [{"id": model.full_name, "description": model.title} for model in models],
                "widgetModels": [],
                **{name: [] for name in ("datasets", "libraries", "metrics", "spaces")},
            }
            for task, models in models_by_task(_MODELS_OF_TASK).items()
        }
    )


def _results(request: HttpRequest, name: str, word: str, limit: int) -> list[dict[str, Any]]:
    if kind := _REPOSITORIES.get(name):
        listing = Listing(kind=kind, words=[word], order="likes")
        page = listing_page(actor_of(request), listing, limit=limit)
        return [
            {"_id": str(row.uuid), "id": row.full_name, "trendingWeight": row.likes}
            for row in page.items
        ]
    if owner := _NAMESPACES.get(name):
        shape = _person if name == "user" else _organisation
        return [shape(row) for row in namespaces_matching(word, owner)[:limit]]
    return []


def _person(namespace: Namespace) -> dict[str, Any]:
    return {"user": namespace.name, **_brief(namespace)}


def _organisation(namespace: Namespace) -> dict[str, Any]:
    return {"name": namespace.name, **_brief(namespace)}


def _brief(namespace: Namespace) -> dict[str, Any]:
    fullname = namespace.title or namespace.name
    return {"_id": str(namespace.uuid), "fullname": fullname, "avatarUrl": ""}
