"""Searches for models."""

from typing import Literal, TypedDict, Unpack

from hpcfair import machine
from hpcfair.transport import Transport
from hpcfair.types import Hits, MLModelSummary

_PAGE = 100


class Filters(TypedDict, total=False):
    """Filters of a search.

    ``license`` is an SPDX id; ``signature`` is as ``float32[N,3,64,64] -> float32[N,10]``;
    ``target`` selects models with a build for it, ``auto`` for this machine's; ``similar_to``
    selects networks of similar structure, nearest first.
    """

    task: str | None
    license: str | None
    library: str | None
    tag: str | None
    architecture_class: str | None
    namespace: str | None
    signature: str | None
    target: str | None
    similar_to: str | None
    sort: Literal["relevance", "updated", "downloads", "name"] | None


def search(
    http: Transport, query: str = "", *, limit: int = 30, **filters: Unpack[Filters]
) -> Hits:
    """Search for models; see :meth:`Client.search`."""
    parameters: dict[str, str | int | None] = {"q": query, **filters}  # type: ignore[dict-item]
    if parameters.get("target") == "auto":
        parameters["target"] = machine.target_slug(machine.describe())
    items: list[MLModelSummary] = []
    cursor: str | None = None
    while True:
        page_size = min(_PAGE, limit - len(items))
        page = http.get("/api/v1/models", {**parameters, "limit": page_size, "cursor": cursor})
        items += [MLModelSummary.from_json(item) for item in page["items"]]
        cursor = page.get("next")
        if not cursor or len(items) >= limit:
            break
    facets = {
        name: [(str(value), int(count)) for value, count in counts]
        for name, counts in (page.get("facets") or {}).items()
    }
    return Hits(tuple(items[:limit]), int(page.get("total", len(items))), facets)
