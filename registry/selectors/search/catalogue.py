"""The catalogue: search of MLModels by words, filters, tensor signatures and similarity."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import tantivy

from registry.errors import Invalid, NotFound, Unavailable
from registry.pagination import decode_cursor, encode_cursor
from registry.search import index, parser, plan
from registry.search.counts import Counts, Facets, counts_of
from registry.search.documents import reader_hub, reader_member, reader_public
from registry.search.orders import ByRelevance, BySimilarity, BySortKey, Hit, ResultOrder
from registry.search.parser import Query
from registry.selectors.access import Actor, memberships, person, readable_mlmodels
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.tables import MLModel

_log = logging.getLogger(__name__)

MAX_LIMIT = 100

Values: TypeAlias = str | Iterable[str] | None


@dataclass(frozen=True, slots=True)
class CataloguePage:
    """A page of a search result.

    Attributes:
        items: MLModels in order, with namespace and tags. May be fewer than the limit before the
            last page, if the actor lost access to some since they were indexed.
        next_cursor: Cursor of the next page; ``None`` on the last page.
        counts: Total and facets of the whole result. A facet is counted without its own filter, so
            that it shows the alternatives.
    """

    items: list[MLModel]
    next_cursor: str | None
    counts: Counts

    @property
    def total(self) -> int:
        """Number of MLModels in the whole result; see :class:`Counts`."""
        return self.counts.total

    @property
    def facets(self) -> Facets:
        """Values of each facet with their counts; see :class:`Counts`."""
        return self.counts.facets


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
    with_counts: bool = True,
) -> CataloguePage:
    """A page of the matching MLModels that ``actor`` may read.

    The parameters add to the filters within ``query`` (``registry/search/parser.py``); filter
    values compare without case. ``sort="relevance"`` ranks by similarity if ``similar_to`` is
    given, else by the words of the query, and without words by last update. Without
    ``with_counts`` total and facets are left out.
    ``registry/search/orders.py`` describes the pagination of each order.

    Raises:
        Invalid: ``invalid_query``, ``invalid_signature``, ``invalid_cursor``, ``invalid_request``.
        NotFound: ``model_not_found`` or ``graph_not_found`` for ``similar_to``.
        Unavailable: ``index_busy`` while there is no complete index, or if it cannot be
            written.
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
    return _page(actor, parsed, cursor, limit, with_counts=with_counts)


def _page(
    actor: Actor, parsed: Query, cursor: str | None, limit: int, *, with_counts: bool
) -> CataloguePage:
    ranking = _ranking(actor, parsed)
    readers = _readers(actor)
    matching = plan.matching(parsed, readers)
    # A cursor is valid for the same query only.
    name = f"catalogue {parsed!r}"
    (after,) = decode_cursor(cursor, name) if cursor else [""]

    def search(searcher: tantivy.Searcher) -> tuple[list[Hit], Counts]:
        # One more than the limit, to know whether there is a next page.
        hits = ranking.page(searcher, matching, after, limit + 1)
        return hits, counts_of(searcher, parsed, readers) if with_counts else Counts()

    try:
        hits, counts = index.ask(search)
    except OSError as error:
        _log.error("the search index cannot be used: %s", error)
        raise Unavailable(
            "index_busy", "The search index cannot be written.", "Models and files are available."
        ) from error
    has_more = len(hits) > limit
    hits = hits[:limit]
    return CataloguePage(
        items=_rows(actor, hits),
        next_cursor=encode_cursor([hits[-1].position], name) if has_more else None,
        counts=counts,
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
    user = person(actor)
    namespaces = [] if user is None else memberships(user).values_list("namespace", flat=True)
    return [reader_public(), *map(reader_member, namespaces)]


def _rows(actor: Actor, hits: list[Hit]) -> list[MLModel]:
    """The rows of the hits in order; access is checked again, because the index may be outdated."""
    rows = readable_mlmodels(actor).select_related("namespace").prefetch_related("tags")
    readable = rows.in_bulk([hit.pk for hit in hits])
    return [readable[hit.pk] for hit in hits if hit.pk in readable]
