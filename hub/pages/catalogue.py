"""The catalogue of models: search, filters, orders, results."""

from typing import Any

from django.http import HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import render

from hub.pages.cards import ANY_TOLERANCE, cards_of
from hub.pages.targetchoice import keep_choice
from hub.pages.views import page
from registry.errors import Invalid
from registry.search.vocabulary import FILTERS, NUMBERS, SORTS, name_of
from registry.selectors.search.catalogue import CataloguePage, catalogue_search
from registry.selectors.work.target import targets
from registry.states import ToleranceClass

#: Filter whose values are counted beside the results, to its heading.
FACETS = {
    "task": "Task",
    "class": "Architecture",
    "library": "Library",
    "license": "Licence",
    "tag": "Tag",
}
#: Orders with their names in the form.
SORT_NAMES = {
    "relevance": "Best match, newest",
    "updated": "Recently updated",
    "downloads": "Most downloaded",
    "latency": "Lowest latency",
    "throughput": "Highest throughput",
    "gain": "Largest gain",
    "accuracy": "Highest accuracy",
    "parameters": "Fewest parameters",
    "size": "Smallest",
    "fair": "Highest FAIR score",
    "name": "Name",
}
#: Filters that have a field of their own in the form, and so no chip.
_FIELDS = ("target", "tolerance", *NUMBERS)
_PER_PAGE = 24


@page
def catalogue(request: HttpRequest) -> HttpResponseBase:
    """Catalogue of models: search, facets, results."""
    query = request.GET.get("q", "").strip()
    filters = _filters_in(request.GET)
    slugs = list(targets().values_list("slug", flat=True))
    context: dict[str, Any] = {
        "section": "models",
        "query": query,
        "filters": filters,
        "is_narrowed": bool(query or filters),
        "chosen": [
            {"name": name, "value": value, "without": _address(request.GET, name, None)}
            for name, value in filters.items()
            if name not in _FIELDS
        ],
        "sort_names": SORT_NAMES,
        "sort": request.GET.get("sort", ""),
        "targets": slugs,
        "tolerances": list(ToleranceClass.values),
        "bounds": [(FILTERS[name], filters.get(name, "")) for name in NUMBERS],
        "has_bounds": any(name in filters for name in NUMBERS),
        "grammar": FILTERS.values(),
        "orders": SORTS.items(),
    }
    try:
        results = _search(request, query, filters)
    except Invalid as error:
        return render(request, "catalogue.html", {**context, "error": error}, status=400)
    context |= {
        "results": results,
        "sort": results.query.sort,
        "cards": cards_of(request, results),
        "facets": _facets(request.GET, results, filters),
        "next": results.next_cursor and _address(request.GET, "cursor", results.next_cursor),
    }
    response = render(request, "catalogue.html", context)
    keep_choice(request, response, slugs)
    return response


def _search(request: HttpRequest, query: str, filters: dict[str, str]) -> CataloguePage:
    is_limited = "tolerance" in filters or "tolerance:" in query.lower()
    limited = filters if is_limited else {**filters, "tolerance": str(ANY_TOLERANCE)}
    return catalogue_search(
        request.user,
        query=query,
        sort=request.GET.get("sort") or None,
        cursor=request.GET.get("cursor") or None,
        limit=_PER_PAGE,
        with_counts=True,
        **limited,
    )


def _filters_in(query: QueryDict) -> dict[str, str]:
    """Filters in the address, by name or alias."""
    values = {name_of(key): str(query[key]).strip() for key in query}
    return {name: value for name, value in values.items() if name in FILTERS and value}


def _facets(
    query: QueryDict, results: CataloguePage, filters: dict[str, str]
) -> list[dict[str, Any]]:
    return [
        {
            "heading": heading,
            "values": [
                {
                    "value": value,
                    "count": count,
                    "current": filters.get(name) == value,
                    "address": _address(query, name, None if filters.get(name) == value else value),
                }
                for value, count in results.facets.get(FILTERS[name].column, [])[:12]
            ],
        }
        for name, heading in FACETS.items()
        if results.facets.get(FILTERS[name].column)
    ]


def _address(query: QueryDict, name: str, value: str | None) -> str:
    """This page's address with one parameter changed, on the first page of the list."""
    changed = query.copy()
    for key in [key for key in changed if key == "cursor" or name_of(key) == name]:
        del changed[key]
    if value is not None:
        changed[name] = value
    return f"?{changed.urlencode()}"
