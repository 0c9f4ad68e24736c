"""The catalogue: finding MLModels by words, by filters, by tensors and by likeness."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

import tantivy

from registry.errors import Invalid, NotFound
from registry.pagination import decode_cursor, encode_cursor
from registry.search import index, parser, plan
from registry.search.documents import reader_hub, reader_member, reader_public
from registry.search.orders import (
    ByLikeness,
    ByRelevance,
    BySortKey,
    Hit,
    Ranking,
)
from registry.search.parser import Query
from registry.search.schema import FACETS
from registry.selectors.access import Actor, readable_mlmodels
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.states import Visibility
from registry.tables import MLModel

MAX_LIMIT = 100
#: Values a facet lists, the most frequent first.
FACET_VALUES = 50
# Distinct values counted for a facet; of more, the rarest are left out. DANGER: tantivy refuses
# an answer of more than 65,000 counts, over all facets together.
_COUNTED_VALUES = 5_000

Values: TypeAlias = str | Iterable[str] | None
Facets: TypeAlias = dict[str, list[tuple[str, int]]]


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a result.

    Attributes:
        items: MLModels in order, with namespace and tags. Fewer than asked for, before the last
            page, if some went out of sight since they were indexed.
        total: Number of MLModels in the whole result.
        next_cursor: Asks for the next page; ``None`` on the last.
        facets: Facet to ``(value in folded case, count)``, most frequent first. A facet is
            counted without its own filter, so that it shows what else could be chosen.
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
) -> Page:
    """The MLModels ``actor`` may read that match, a page at a time.

    The parameters say the same as filters within ``query`` (``registry/search/parser.py``) and
    add to them; filter values compare without case. ``sort="relevance"`` ranks by likeness
    if ``similar_to`` is given, else by the words of the query, and without words shows the last
    updated first. ``registry/search/orders.py`` says what each order promises from page to page.

    Raises:
        Invalid: ``invalid_query``, ``invalid_signature``, ``invalid_cursor``, ``invalid_request``.
        NotFound: ``model_not_found`` or ``graph_not_found`` for ``similar_to``.
        Unavailable: ``index_busy`` while the first index is being built.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise Invalid("invalid_request", f"limit is {limit}; it goes from 1 to {MAX_LIMIT}.")
    asked = parser.parse(query)
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
            asked = asked.narrowed(key, [values] if isinstance(values, str) else values)
    if signature:
        asked = asked.with_signature(signature)
    if similar_to:
        asked = asked.with_similar(similar_to)
    if sort:
        asked = asked.with_sort(sort)
    return _page(actor, asked, cursor, limit)


def _page(actor: Actor, asked: Query, cursor: str | None, limit: int) -> Page:
    ranking = _ranking(actor, asked)
    readers = _readers(actor)
    matching = plan.matching(asked, readers)
    # A cursor is valid for the same question only.
    name = f"catalogue {asked!r}"
    (after,) = decode_cursor(cursor, name) if cursor else [""]
    counting = _counting(asked, readers)

    def look(searcher: tantivy.Searcher) -> _Answer:
        # One more than asked for tells whether there is a next page.
        hits = ranking.page(searcher, matching, after, limit + 1)
        # The binding's stub forgets ``count``.
        total = searcher.search(matching, 1).count  # type: ignore[attr-defined]
        return _Answer(hits, total, _facets(searcher, counting))

    answer = index.ask(look)
    shown = answer.hits[:limit]
    further = len(answer.hits) > limit
    return Page(
        items=_rows(actor, shown),
        total=answer.total,
        next_cursor=encode_cursor([shown[-1].place], name) if further else None,
        facets=answer.facets,
    )


def _ranking(actor: Actor, asked: Query) -> Ranking:
    if asked.similar_to:
        reference = mlmodel_get(actor, asked.similar_to)
        graph = graph_of(revision_get(reference))
        if graph is None:
            raise NotFound(
                "graph_not_found",
                f"Nothing is known of the network of {reference.full_name}.",
                "Only models with an inspected network can be compared.",
            )
        if asked.sort == "relevance":
            return ByLikeness(graph)
    if asked.sort != "relevance":
        return BySortKey(asked.sort)
    return ByRelevance() if plan.has_words(asked) else BySortKey("updated")


def _readers(actor: Actor) -> list[str]:
    """Terms of which a document needs one; drawn from the one predicate for reads."""
    if actor is None:
        return [reader_hub()]
    private = readable_mlmodels(actor).filter(visibility=Visibility.PRIVATE)
    namespaces = private.order_by().values_list("namespace_id", flat=True).distinct()
    return [reader_public(), *map(reader_member, namespaces)]


def _rows(actor: Actor, hits: list[Hit]) -> list[MLModel]:
    """The rows of the hits, in order; what the index says of access is checked again here."""
    rows = readable_mlmodels(actor).select_related("namespace").prefetch_related("tags")
    found = rows.in_bulk([hit.pk for hit in hits])
    return [found[hit.pk] for hit in hits if hit.pk in found]


def _counting(asked: Query, readers: list[str]) -> list[tuple[tantivy.Query, list[str]]]:
    """What to count where: each filtered facet by itself, all others together."""
    filtered = [facet for facet in FACETS if asked.filters_of(facet)]
    free = [facet for facet in FACETS if facet not in filtered]
    counting = [(plan.matching(asked, readers, without=facet), [facet]) for facet in filtered]
    return [*counting, (plan.matching(asked, readers), free)] if free else counting


def _facets(searcher: tantivy.Searcher, counting: list[tuple[tantivy.Query, list[str]]]) -> Facets:
    most = {"size": _COUNTED_VALUES, "segment_size": _COUNTED_VALUES}
    facets: Facets = {}
    for wanted, names in counting:
        request = {name: {"terms": {"field": name, **most}} for name in names}
        for name, counted in searcher.aggregate(wanted, request).items():
            found = [(bucket["key"], int(bucket["doc_count"])) for bucket in counted["buckets"]]
            facets[name] = sorted(found, key=lambda one: (-one[1], one[0]))[:FACET_VALUES]
    return {name: facets[name] for name in FACETS}
