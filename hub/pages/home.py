"""The front page, the catalogue of models and the list of data sets."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import render

from hub.pages.addresses import newest_first
from hub.pages.views import listed, page
from registry.errors import Invalid
from registry.selectors.repository.dataset import datasets_matching
from registry.selectors.results.best import largest_gains
from registry.selectors.search import hub as hub_selector
from registry.selectors.search.catalogue import catalogue_search

#: Facet name, as in the address, to its heading.
FACETS = {
    "task": "Task",
    "architecture_class": "Architecture",
    "target": "Tuned for",
    "library": "Library",
    "license": "License",
    "tag": "Tag",
}
SORTS = {
    "relevance": "Best match",
    "updated": "Recently updated",
    "downloads": "Most downloaded",
    "name": "Name",
}
_FILTERS = (*FACETS, "namespace", "signature", "similar_to")
_PER_PAGE = 24


@page
def home(request: HttpRequest) -> HttpResponseBase:
    """The front page: figures, newest models, largest gains."""
    figures = hub_selector.figures()
    context = {
        "counts": figures
        and [
            ("Models", figures.mlmodels),
            ("Targets", figures.targets),
            ("Candidates measured", figures.trials),
            ("Benchmark records", figures.records),
        ],
        "newest": listed(
            lambda: catalogue_search(request.user, sort="updated", limit=6, with_counts=False)
        ),
        "fastest": largest_gains(request.user, limit=6),
    }
    return render(request, "home.html", context)


@page
def catalogue(request: HttpRequest) -> HttpResponseBase:
    """Catalogue of models: search, facets, results."""
    query = request.GET.get("q", "").strip()
    chosen: dict[str, Any] = {name: request.GET[name] for name in _FILTERS if request.GET.get(name)}
    # Relevance of models like another one is their similarity to it.
    is_ranked = bool(query) or "similar_to" in chosen
    sort = request.GET.get("sort") or ("relevance" if is_ranked else "updated")
    context: dict[str, Any] = {
        "section": "models",
        "query": query,
        "sort": sort,
        "sorts": SORTS,
        "chosen": [
            {"name": name, "value": value, "without": _address(request.GET, **{name: None})}
            for name, value in chosen.items()
        ],
    }
    try:
        results = catalogue_search(
            request.user,
            query=query,
            sort=sort if sort in SORTS else "updated",
            cursor=request.GET.get("cursor") or None,
            limit=_PER_PAGE,
            **chosen,
        )
    except Invalid as error:
        return render(request, "catalogue.html", {**context, "error": error}, status=400)
    context |= {
        "results": results,
        "facets": _facets(request.GET, results.facets, chosen),
        "next": results.next_cursor and _address(request.GET, cursor=results.next_cursor),
    }
    return render(request, "catalogue.html", context)


@page
def datasets(request: HttpRequest) -> HttpResponseBase:
    """Data sets, newest first, filtered by words."""
    query = request.GET.get("q", "").strip()
    shown, older = newest_first(datasets_matching(request.user, query), request)
    context = {"section": "datasets", "dataset_query": query, "shown": shown, "older": older}
    return render(request, "dataset/list.html", context)


def _facets(
    query: QueryDict, counts: dict[str, list[tuple[str, int]]], chosen: dict[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            "heading": heading,
            "values": [
                {
                    "value": value,
                    "count": count,
                    "current": chosen.get(name) == value,
                    "address": _address(
                        query, **{name: None if chosen.get(name) == value else value}
                    ),
                }
                for value, count in counts.get(name, [])[:12]
            ],
        }
        for name, heading in FACETS.items()
        if counts.get(name)
    ]


def _address(query: QueryDict, **changes: str | None) -> str:
    """This page's address with changed parameters, on the first page of the list."""
    changed = query.copy()
    changed.pop("cursor", None)
    for name, value in changes.items():
        if value is None:
            changed.pop(name, None)
        else:
            changed[name] = value
    return f"?{changed.urlencode()}"
