"""Finding models."""

from typing import Literal, TypedDict, Unpack

from hpcfair import machine
from hpcfair.transport import Transport
from hpcfair.types import Hits, MLModelSummary

_PAGE = 100


class Filters(TypedDict, total=False):
    """What a search can be narrowed by.

    ``license`` is an SPDX id such as ``apache-2.0``; ``signature`` is what goes in and comes out,
    ``float32[N,3,64,64] -> float32[N,10]``; ``target`` finds models with a build for that hardware,
    ``auto`` for this machine's; ``similar_to`` finds networks built like that model's, nearest
    first.
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
    """Find models by words and by what the hub knows of them; see :meth:`Client.search`."""
    given: dict[str, str | int | None] = {"q": query, **filters}  # type: ignore[dict-item]
    if given.get("target") == "auto":
        given["target"] = machine.target_slug(machine.describe())
    items: list[MLModelSummary] = []
    cursor: str | None = None
    while True:
        wanted = min(_PAGE, limit - len(items))
        page = http.get("/api/v1/models", {**given, "limit": wanted, "cursor": cursor})
        items += [MLModelSummary.from_json(item) for item in page["items"]]
        cursor = page.get("next")
        if not cursor or len(items) >= limit:
            break
    facets = {
        name: [(str(value), int(count)) for value, count in counts]
        for name, counts in (page.get("facets") or {}).items()
    }
    return Hits(tuple(items[:limit]), int(page.get("total", len(items))), facets)
