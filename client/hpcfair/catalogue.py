"""Searches for models."""

from typing import Literal, TypedDict

from hpcfair import localcatalogue, machine
from hpcfair.cache import Cache
from hpcfair.searchresults import Hits
from hpcfair.transport import Transport
from hpcfair.types import MLModelSummary
from hpcfair.typingnames import Unpack

_PAGE = 100


Sort = Literal[
    "relevance", "updated", "downloads", "name",
    "latency", "gain", "accuracy", "throughput", "parameters", "size", "fair",
]  # fmt: skip


class Filters(TypedDict, total=False):
    """Filters of a search, which mean the same in the text of a query (``latency:<5ms``).

    ``license`` is an SPDX id; ``signature`` is as ``float32[N,3,64,64] -> float32[N,10]``;
    ``target`` selects models with a build for it, ``auto`` for this machine's; ``similar`` selects
    networks of similar structure, nearest first. Numbers are compared: ``latency="<5ms"``,
    ``gain=">2"``, ``accuracy=">0.95"``, ``throughput=">500"``, ``parameters="<10M"``,
    ``size="<100MB"``, ``fair=">80"``. The first four are of the best build on the target within
    ``tolerance``, by default ``exact``; without a target, each is the best on any. ``throughput``
    is that of the scenario ``offline``. ``class`` is ``architecture_class`` here, because
    Python reserves the word; ``namespace`` and ``similar_to`` are other names of ``by`` and
    ``similar``.
    """

    task: str | None
    license: str | None
    library: str | None
    tag: str | None
    architecture_class: str | None
    by: str | None
    namespace: str | None
    signature: str | None
    target: str | None
    tolerance: str | None
    latency: str | None
    gain: str | None
    accuracy: str | None
    throughput: str | None
    parameters: str | None
    size: str | None
    fair: str | None
    similar: str | None
    similar_to: str | None
    sort: Sort | None


def search(
    http: Transport, cache: Cache, query: str = "", *, limit: int = 30, **filters: Unpack[Filters]
) -> Hits:
    """Search for models; see :meth:`Client.search`."""
    if filters.get("target") == "auto":
        filters["target"] = machine.target_slug(machine.describe())
    if http.config.offline:
        return localcatalogue.search(cache, http.config.url, query, filters, limit=limit)
    parameters: dict[str, str | int | None] = {"q": query, **filters}  # type: ignore[dict-item]
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
    total, hints = int(page.get("total", len(items))), tuple(page.get("hints") or ())
    return Hits(tuple(items[:limit]), total, facets, hints)
