"""The catalogue: search of MLModels by words, filters, numbers, signatures and similarity."""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import tantivy

from registry.errors import Invalid, NotFound, Unavailable
from registry.pagination import decode_cursor, encode_cursor
from registry.search import index, parser, plan
from registry.search.counts import Counts, Facets, counts_of
from registry.search.documents import reader_hub, reader_member, reader_public
from registry.search.hints import hints_of
from registry.search.number_order import ByNumber
from registry.search.orders import ByRelevance, BySimilarity, BySortKey, Hit, ResultOrder
from registry.search.parser import Query
from registry.search.schema import ANY
from registry.search.vocabulary import NUMBERS, listed, suggestion
from registry.selectors.access import Actor, memberships, person, readable_mlmodels
from registry.selectors.fair.identifier import identifier_get
from registry.selectors.repository.mlmodel import mlmodel_get
from registry.selectors.repository.revision import revision_get
from registry.selectors.results.graph import graph_of
from registry.selectors.search.similarity import Similarity, similarities_of
from registry.selectors.work.target import targets
from registry.tables import Graph, MLModel

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
        query: The parsed query, with the filters of the parameters.
        hints: Sentences on the values of an empty result that no model has.
        similarities: Key of an item to its similarity to the model of ``similar``.
    """

    items: list[MLModel]
    next_cursor: str | None
    counts: Counts
    query: Query = field(default_factory=Query)
    hints: tuple[str, ...] = ()
    similarities: dict[int, Similarity] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """Number of MLModels in the whole result; see :class:`Counts`."""
        return self.counts.total

    @property
    def facets(self) -> Facets:
        """Values of each facet with their counts; see :class:`Counts`."""
        return self.counts.facets


def catalogue_search(
    actor: Actor,
    *,
    query: str = "",
    sort: str | None = None,
    cursor: str | None = None,
    limit: int = 30,
    with_counts: bool = True,
    **filters: Values,
) -> CataloguePage:
    """A page of the matching MLModels that ``actor`` may read.

    ``filters`` are those of ``registry/search/vocabulary.py`` by name or alias, each with one value
    or several; they add to those within ``query`` and mean the same. Values compare without case.
    ``sort="relevance"`` ranks by similarity if the query has ``similar``, else by its words, and
    without words by last update. Without ``with_counts`` total and facets are left out.
    ``registry/search/orders.py`` describes the pagination of each order.

    Raises:
        Invalid: ``invalid_query``, ``invalid_signature``, ``invalid_cursor``, ``invalid_request``.
            The message names valid values, and the one that is most like an unknown one.
        NotFound: ``model_not_found`` or ``graph_not_found`` for ``similar``.
        Unavailable: ``index_busy`` while there is no complete index, or if it cannot be
            written.
    """
    if not 1 <= limit <= MAX_LIMIT:
        raise Invalid("invalid_request", f"limit is {limit}; it must be from 1 to {MAX_LIMIT}.")
    parsed = parser.parse(query)
    for key, values in filters.items():
        for value in [values] if isinstance(values, str) else values or ():
            parsed = parsed.with_filter(key, value) if value else parsed
    if sort:
        parsed = parsed.with_sort(sort)
    _check_targets(parsed)
    parsed = replace(parsed, identified=tuple(_identified(actor, parsed.identifiers)))
    return _page(actor, parsed, cursor, limit, with_counts=with_counts)


def _page(
    actor: Actor, parsed: Query, cursor: str | None, limit: int, *, with_counts: bool
) -> CataloguePage:
    reference = _reference(actor, parsed)
    ranking = _ranking(parsed, reference)
    readers = _readers(actor)
    matching = plan.matching(parsed, readers)
    # A cursor is valid for the same query only.
    name = f"catalogue {parsed!r}"
    (after,) = decode_cursor(cursor, name) if cursor else [""]

    def search(searcher: tantivy.Searcher) -> tuple[list[Hit], Counts, tuple[str, ...]]:
        # One more than the limit, to know whether there is a next page.
        hits = ranking.page(searcher, matching, after, limit + 1)
        hints = () if hits or after else hints_of(searcher, parsed, readers)
        counts = counts_of(searcher, parsed, readers) if with_counts else Counts()
        return hits, counts, hints

    try:
        hits, counts, hints = index.ask(search)
    except OSError as error:
        _log.error("the search index cannot be used: %s", error)
        raise Unavailable(
            "index_busy", "The search index cannot be written.", "Models and files are available."
        ) from error
    has_more = len(hits) > limit
    hits = hits[:limit]
    items = _rows(actor, hits)
    return CataloguePage(
        items=items,
        next_cursor=encode_cursor([hits[-1].position], name) if has_more else None,
        counts=counts,
        query=parsed,
        hints=(*_unidentified(parsed), *hints),
        similarities=similarities_of(reference, items) if reference else {},
    )


def _identified(actor: Actor, identifiers: Iterable[str]) -> Iterator[str]:
    """The full name of the model that each of ``identifiers`` leads to, here or by a mirror; "" if
    there is none that ``actor`` may read.

    The index has no identifiers: which ones of other hubs count depends on the keys that operators
    trust at the moment.
    """
    for text in identifiers:
        try:
            mlmodel = identifier_get(actor, text).mlmodel
        except NotFound:
            mlmodel = None
        yield mlmodel.full_name if mlmodel else ""


def _unidentified(parsed: Query) -> Iterator[str]:
    for text, name in zip(parsed.identifiers, parsed.identified, strict=True):
        if not name:
            yield (
                f"No model that you may read has the identifier {text[:100]}. Those of another hub "
                "lead to their mirror if the operators of this hub trust its key."
            )


def _check_targets(parsed: Query) -> None:
    """Refuse targets that the hub does not have; only registered ones have safe names."""
    if not parsed.targets:
        return
    slugs = list(targets().values_list("slug", flat=True))
    for slug in parsed.targets:
        if slug not in slugs:
            raise Invalid(
                "invalid_query",
                f"There is no target {slug[:64]!r}.{suggestion(slug, slugs)}",
                f"Targets are {listed(slugs)}." if slugs else "This hub has no target yet.",
            )


def _reference(actor: Actor, parsed: Query) -> Graph | None:
    """The network that results are compared with."""
    if not parsed.similar_to:
        return None
    reference = mlmodel_get(actor, parsed.similar_to)
    graph = graph_of(revision_get(reference))
    if graph is None:
        raise NotFound(
            "graph_not_found",
            f"{reference.full_name} has no inspected network.",
            "Only models with an inspected network can be compared.",
        )
    return graph


def _ranking(parsed: Query, reference: Graph | None) -> ResultOrder:
    number = NUMBERS.get(parsed.sort)
    if number is not None:
        if number.is_speed and len(parsed.targets) > 1:
            raise Invalid(
                "invalid_query",
                f"The order {parsed.sort} needs one target; the query has {len(parsed.targets)}.",
                f"Keep one of {listed(parsed.targets)}.",
            )
        target = parsed.targets[0] if parsed.targets else ANY
        path = plan.path_of(parsed.sort, parsed, target)
        return ByNumber(path, is_ascending=number.is_least_best)
    if parsed.sort != "relevance":
        return BySortKey(parsed.sort)
    if reference is not None:
        return BySimilarity(reference)
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
