"""Orders of search results and their pagination.

An order turns a page request into hits. Each hit has a *position*, a short text, by which the page
after it is requested.

========== ==================================== ==============================================
order      sorts by                             position of a hit
========== ==================================== ==============================================
updated    last change, newest first            its sort key: pages neither repeat nor skip a
downloads  downloads as last indexed, most      model when others are added or deleted; a
           first                                changed model moves to its new position
name       ``namespace/name``, without case
numbers    latency, gain, accuracy, parameters, the number and the key: as above
           size or FAIR score, then newest first (``number_order.py``)
similarity same architecture class first, then  class, cosine, graph hash, name: as above
           cosine of structure embeddings,
           then name
relevance  BM25 over weighted fields            its rank: scores change with the index, so
                                                models indexed between two pages may shift the
                                                second by a few ranks; models of equal score
                                                have no defined order
========== ==================================== ==============================================
"""

import heapq
import itertools
import math
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import tantivy
from tantivy import Order
from tantivy import Query as IndexQuery

from registry.search import generations, sampling
from registry.search.plan import any_of, both
from registry.search.schema import SCHEMA, SMALLEST, between, share_term
from registry.search.structures import groups
from registry.search.vocabulary import Sort
from registry.tables import Graph

#: Upper bound on hits by relevance; other orders list all.
DEEPEST_RANK = 10_000
#: Structures of a result up to which they are looked up by hash, and structures looked up at first.
_FEW, _FIRST_STRUCTURES = 10_000, 64


@dataclass(frozen=True, slots=True)
class Hit:
    """Key of an MLModel and its position in the order."""

    pk: int
    position: str


class ResultOrder(Protocol):
    """An order of a result."""

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        """At most ``limit`` hits after a position of this order; from the start if it is ""."""


class BySortKey:
    """By a unique key of each document."""

    def __init__(self, sort: Sort) -> None:
        self.field = f"by_{sort}"
        self.order = Order.Asc if sort == "name" else Order.Desc

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        query = matching
        if after:
            # Positions come from signed cursors, so ``between`` may trust its bounds.
            low, high = (after, "*") if self.order == Order.Asc else ("*", after)
            query = both(matching, between(self.field, low, high))
        narrowed = sampling.narrowed(searcher, query, limit, self._bound)
        hits = _sorted_hits(searcher, narrowed, self.field, limit, self.order)
        if len(hits) < limit and narrowed is not query:
            return _sorted_hits(searcher, query, self.field, limit, self.order)
        return hits

    def _bound(
        self, searcher: tantivy.Searcher, query: IndexQuery, depth: int
    ) -> IndexQuery | None:
        hits = _sorted_hits(searcher, query, self.field, depth, self.order)
        if len(hits) < depth:
            return None
        key = hits[-1].position
        low, high = ("*", key) if self.order == Order.Asc else (key, "*")
        return between(self.field, low, high)


class ByRelevance:
    """By score, best first."""

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        start = int(after or 0)
        limit = min(limit, DEEPEST_RANK - start)
        if limit <= 0:
            return []
        scored = searcher.search(matching, limit, count=False, offset=start).hits
        keys = searcher.fast_field_values("pk", [address for _, address in scored])
        return [Hit(int(pk or 0), str(start + rank)) for rank, pk in enumerate(keys, 1)]


class BySimilarity:
    """By similarity of network structure, over all structures of the index (``structures.py``).

    Fine-tuned copies share a structure, so there are far fewer structures than models.
    """

    def __init__(self, reference: Graph) -> None:
        self.reference = reference

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        reached, name = _read_similarity(after) if after else (None, "")
        among = _structures_of_few(searcher, matching)
        hits: list[Hit] = []
        for similarity in _present(searcher, matching, self._ranked(reached, among), among):
            term = IndexQuery.term_query(SCHEMA, "structure", similarity.structure)
            query = both(matching, term)
            if similarity == reached:
                query = both(query, between("by_name", name, "*"))
            page = _sorted_hits(searcher, query, "by_name", limit - len(hits), Order.Asc)
            hits.extend(Hit(hit.pk, f"{similarity} {hit.position}") for hit in page)
            if len(hits) == limit:
                break
        return hits

    def _ranked(
        self, reached: "_Similarity | None", among: Collection[str] | None
    ) -> Iterator["_Similarity"]:
        """The structures from ``reached`` on by similarity to the reference."""
        folder = generations.folder() / generations.current()
        own = self.reference.architecture_class
        others = []
        for group in groups(folder, own, self.reference.embedding):
            same = int(group.architecture_class == own)
            if reached and reached.same_class < same:
                continue
            most = reached.cosine if reached and reached.same_class == same else math.inf
            ranked = group.ranked(most, among)
            if same:
                yield from _from(reached, 1, ranked)
            else:
                others.append(ranked)
        yield from _from(reached, 0, heapq.merge(*others))


@dataclass(frozen=True, slots=True)
class _Similarity:
    """Similarity of a structure; the cosine is rounded, so that it can be written and read."""

    same_class: int
    cosine: float
    structure: str

    def __str__(self) -> str:
        return f"{self.same_class} {self.cosine:.6f} {self.structure}"

    @property
    def rank(self) -> tuple[int, float, str]:
        return -self.same_class, -self.cosine, self.structure


def _read_similarity(position: str) -> tuple[_Similarity, str]:
    same_class, cosine, structure, name = position.split(" ")
    return _Similarity(int(same_class), float(cosine), structure), name


def _from(
    reached: _Similarity | None, same_class: int, ranked: Iterable[tuple[float, str]]
) -> Iterator[_Similarity]:
    """Similarities of negative cosines and hashes, without those before ``reached``."""
    for negative, structure in ranked:
        similarity = _Similarity(same_class, -negative, structure)
        if reached is None or similarity.rank >= reached.rank:
            yield similarity


def _structures_of_few(searcher: tantivy.Searcher, matching: IndexQuery) -> set[str] | None:
    """The structures of a result of about :data:`_FEW` documents; ``None`` for a larger one."""
    if searcher.num_docs > _FEW:
        sample = both(matching, any_of([share_term(SMALLEST)]))
        # The binding's type stub lacks ``count``.
        in_sample = searcher.search(sample, 1).count  # type: ignore[attr-defined]
        if SMALLEST * in_sample > _FEW:
            return None
    return _counted_structures(searcher, matching)


def _present(
    searcher: tantivy.Searcher,
    matching: IndexQuery,
    ranked: Iterator[_Similarity],
    among: Collection[str] | None,
) -> Iterator[_Similarity]:
    """Those structures, in order, that a document of the result may have."""
    if among is not None:
        yield from ranked
        return
    # Of most results, a page is full after these.
    yield from itertools.islice(ranked, _FIRST_STRUCTURES)
    size = 4 * _FIRST_STRUCTURES
    while part := list(itertools.islice(ranked, size)):
        names = [similarity.structure for similarity in part]
        query = both(matching, IndexQuery.term_set_query(SCHEMA, "structure", names))
        present = _counted_structures(searcher, query)
        yield from (similarity for similarity in part if similarity.structure in present)
        size = min(4 * size, _FEW)


def _counted_structures(searcher: tantivy.Searcher, matching: IndexQuery) -> set[str]:
    """The structures of a result that has at most twice :data:`_FEW` of them."""
    count = {"field": "structure", "size": 2 * _FEW, "segment_size": 2 * _FEW}
    counted = searcher.aggregate(matching, {"structures": {"terms": count}})
    return {bucket["key"] for bucket in counted["structures"]["buckets"]}


def _sorted_hits(
    searcher: tantivy.Searcher, query: IndexQuery, field: str, limit: int, order: Order
) -> list[Hit]:
    """Hits by a sort key, which is their position."""
    hits = searcher.search(query, limit, count=False, order_by_field=field, order=order).hits
    keys = searcher.fast_field_values("pk", [address for _, address in hits])
    return [Hit(int(pk or 0), position) for pk, (position, _) in zip(keys, hits, strict=True)]
