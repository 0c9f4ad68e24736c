"""The catalogue: search of MLModels by words, filters, tensor signatures and similarity."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import tantivy

from registry.errors import Invalid, NotFound
from registry.pagination import decode_cursor, encode_cursor
from registry.search import index, parser, plan
from registry.search.documents import reader_hub, reader_member, reader_public
from registry.search.orders import ByRelevance, BySimilarity, BySortKey, Hit, ResultOrder
from registry.search.parser import Query
from registry.search.schema import FACETS
from registry.selectors.access import Actor, readable_mlmodels
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.states import Visibility
from registry.tables import MLModel

MAX_LIMIT = 100
#: Upper bound on listed values of a facet.
FACET_VALUES = 50
# Upper bound on counted values of a facet; the rarest are left out. DANGER: tantivy rejects more
# than 65,000 counts over all facets.
_COUNTED_VALUES = 5_000

Values: TypeAlias = str | Iterable[str] | None
Facets: TypeAlias = dict[str, list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class CataloguePage:
    """A page of a search result.

    Attributes:
        items: MLModels in order, with namespace and tags. May be fewer than the limit before the
            last page, if the actor lost access to some since they were indexed.
        total: Number of MLModels in the whole result.
        next_cursor: Cursor of the next page; ``None`` on the last page.
        facets: Facet to ``(value in folded case, count)``, most frequent first. A facet is counted
            without its own filter, so that it shows the alternatives.
    """

    items: list[MLModel]
    total: int
    next_cursor: str | None
    facets: Facets = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Answer:
    hits: list[Hit]
    total: int
    facets: Facets


def catalogue_search(  # noqa: PLR0913 - a search form has many fields
    actor: Actor,
    *,
    query: str = "",
    task: Values = None,
    license: Values = None,
    library: Values = None,
    tag: Values = None,
    architecture_class: Values = None,
    namespace: Values = None,
    signature: str | None = None,
    target: Values = None,
    similar_to: str | None = None,
    sort: str | None = None,
    cursor: str | None = None,
    limit: int = 30,
) -> CataloguePage:
    """A page of the matching MLModels that ``actor`` may read.

    The parameters add to the filters within ``query`` (``registry/search/parser.py``); filter
    values compare without case. ``sort="relevance"`` ranks by similarity if ``similar_to`` is
    given, else by the words of the query, and without words by last update.
    ``registry/search/orders.py`` describes the pagination of each order.

    Raises:
        Invalid: ``invalid_query``, ``invalid_signature``, ``invalid_cursor``, ``invalid_request``.
        NotFound: ``model_not_found`` or ``graph_not_found`` for ``similar_to``.
        Unavailable: ``index_busy`` while the first index is being built.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise Invalid("invalid_request", f"limit is {limit}; it must be from 1 to {MAX_LIMIT}.")
    parsed = parser.parse(query)
    filters = {
        "task": task,
        "license": license,
        "library": library,
        "tag": tag,
        "architecture_class": architecture_class,
        "namespace": namespace,
        "target": target,
    }
    for key, values in filters.items():
        if values:
            parsed = parsed.narrowed(key, [values] if isinstance(values, str) else values)
    if signature:
        parsed = parsed.with_signature(signature)
    if similar_to:
        parsed = parsed.with_similar(similar_to)
    if sort:
        parsed = parsed.with_sort(sort)
    return _page(actor, parsed, cursor, limit)


def _page(actor: Actor, parsed: Query, cursor: str | None, limit: int) -> CataloguePage:
    ranking = _ranking(actor, parsed)
    readers = _readers(actor)
    matching = plan.matching(parsed, readers)
    # A cursor is valid for the same query only.
    name = f"catalogue {parsed!r}"
    (after,) = decode_cursor(cursor, name) if cursor else [""]
    counting = _counting(parsed, readers)

    def search(searcher: tantivy.Searcher) -> _Answer:
        # One more than the limit, to know whether there is a next page.
        hits = ranking.page(searcher, matching, after, limit + 1)
        # The binding's type stub lacks ``count``.
        total = searcher.search(matching, 1).count  # type: ignore[attr-defined]
        return _Answer(hits, total, _facets(searcher, counting))

    answer = index.ask(search)
    hits = answer.hits[:limit]
    has_more = len(answer.hits) > limit
    return CataloguePage(
        items=_rows(actor, hits),
        total=answer.total,
        next_cursor=encode_cursor([hits[-1].position], name) if has_more else None,
        facets=answer.facets,
    )


def _ranking(actor: Actor, parsed: Query) -> ResultOrder:
    if parsed.similar_to:
        reference = mlmodel_get(actor, parsed.similar_to)
        graph = graph_of(revision_get(reference))
        if graph is None:
            raise NotFound(
                "graph_not_found",
                f"No network is known in {reference.full_name}.",
                "Only models with an inspected network can be compared.",
            )
        if parsed.sort == "relevance":
            return BySimilarity(graph)
    if parsed.sort != "relevance":
        return BySortKey(parsed.sort)
    return ByRelevance() if plan.has_words(parsed) else BySortKey("updated")


def _readers(actor: Actor) -> list[str]:
    """Terms of which a document must have one, by the access predicate for reads."""
    if actor is None:
        return [reader_hub()]
    private = readable_mlmodels(actor).filter(visibility=Visibility.PRIVATE)
    namespaces = private.order_by().values_list("namespace_id", flat=True).distinct()
    return [reader_public(), *map(reader_member, namespaces)]


def _rows(actor: Actor, hits: list[Hit]) -> list[MLModel]:
    """The rows of the hits in order; access is checked again, because the index may be outdated."""
    rows = readable_mlmodels(actor).select_related("namespace").prefetch_related("tags")
    readable = rows.in_bulk([hit.pk for hit in hits])
    return [readable[hit.pk] for hit in hits if hit.pk in readable]


def _counting(parsed: Query, readers: list[str]) -> list[tuple[tantivy.Query, list[str]]]:
    """Queries with the facets to count: each filtered facet by itself, all others together."""
    filtered = [facet for facet in FACETS if parsed.filters_of(facet)]
    free = [facet for facet in FACETS if facet not in filtered]
    counting = [(plan.matching(parsed, readers, without=facet), [facet]) for facet in filtered]
    return [*counting, (plan.matching(parsed, readers), free)] if free else counting


def _facets(searcher: tantivy.Searcher, counting: list[tuple[tantivy.Query, list[str]]]) -> Facets:
    most = {"size": _COUNTED_VALUES, "segment_size": _COUNTED_VALUES}
    facets: Facets = {}
    for query, names in counting:
        request = {name: {"terms": {"field": name, **most}} for name in names}
        for name, counted in searcher.aggregate(query, request).items():
            counts = [(bucket["key"], int(bucket["doc_count"])) for bucket in counted["buckets"]]
            facets[name] = sorted(counts, key=lambda one: (-one[1], one[0]))[:FACET_VALUES]
    return {name: facets[name] for name in FACETS}
