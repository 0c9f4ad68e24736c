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
similarity same architecture class first, then  class, cosine, graph hash, name: as above
           cosine of structure embeddings,
           then name
relevance  BM25 over weighted fields            its rank: scores change with the index, so
                                                models indexed between two pages may shift the
                                                second by a few ranks; models of equal score
                                                have no defined order
========== ==================================== ==============================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import tantivy
from django.db.models import Min
from tantivy import Occur, Order
from tantivy import Query as IndexQuery

from registry.search.documents import BATCH
from registry.search.parser import Sort
from registry.search.schema import SCHEMA, between
from registry.tables import Graph

#: Upper bound on hits by relevance; other orders list all.
DEEPEST_RANK = 10_000
_MOST_STRUCTURES = 10_000


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
            query = _both(matching, between(self.field, low, high))
        return _sorted_hits(searcher, query, self.field, limit, self.order)


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
    """By similarity of network structure, computed for all distinct structures of the result.

    Fine-tuned copies share a structure, so there are far fewer structures than models. The index
    lists them; their embeddings come from the tables.
    """

    def __init__(self, reference: Graph) -> None:
        self.reference = reference

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        reached, name = _read_similarity(after) if after else (None, "")
        hits: list[Hit] = []
        for similarity in self._ranked(_structures(searcher, matching)):
            if reached and similarity.rank < reached.rank:
                continue
            term = IndexQuery.term_query(SCHEMA, "structure", similarity.structure)
            query = _both(matching, term)
            if similarity == reached:
                query = _both(query, between("by_name", name, "*"))
            page = _sorted_hits(searcher, query, "by_name", limit - len(hits), Order.Asc)
            hits.extend(Hit(hit.pk, f"{similarity} {hit.position}") for hit in page)
            if len(hits) == limit:
                break
        return hits

    def _ranked(self, structures: list[str]) -> list["_Similarity"]:
        """The structures by similarity to the reference."""
        reference = np.asarray(self.reference.embedding, float)
        ranked = []
        for structure, architecture, embedding in _graphs(structures):
            other = np.asarray(embedding, float)
            if other.shape == reference.shape:
                length = float(np.linalg.norm(reference) * np.linalg.norm(other)) or 1.0
                cosine = round(float(reference @ other) / length, 6)
                same = int(architecture == self.reference.architecture_class)
                ranked.append(_Similarity(same, cosine, structure))
        return sorted(ranked, key=lambda similarity: similarity.rank)


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


def _structures(searcher: tantivy.Searcher, matching: IndexQuery) -> list[str]:
    """The distinct structures of a result, at most the :data:`_MOST_STRUCTURES` most frequent."""
    count = {"field": "structure", "size": _MOST_STRUCTURES, "segment_size": _MOST_STRUCTURES}
    counted = searcher.aggregate(matching, {"structures": {"terms": count}})
    return [bucket["key"] for bucket in counted["structures"]["buckets"]]


def _graphs(structures: list[str]) -> Iterator[tuple[str, str, list[float]]]:
    """Graph hash, architecture class and embedding of each structure, from any of its graphs."""
    for start in range(0, len(structures), BATCH):
        batch = structures[start : start + BATCH]
        rows = Graph.objects.filter(graph_hash__in=batch).values("graph_hash")
        one_each = rows.annotate(any=Min("id")).values("any")
        yield from Graph.objects.filter(id__in=one_each).values_list(
            "graph_hash", "architecture_class", "embedding"
        )


def _sorted_hits(
    searcher: tantivy.Searcher, query: IndexQuery, field: str, limit: int, order: Order
) -> list[Hit]:
    """Hits by a sort key, which is their position."""
    hits = searcher.search(query, limit, count=False, order_by_field=field, order=order).hits
    keys = searcher.fast_field_values("pk", [address for _, address in hits])
    return [Hit(int(pk or 0), position) for pk, (position, _) in zip(keys, hits, strict=True)]


def _both(first: IndexQuery, second: IndexQuery) -> IndexQuery:
    return IndexQuery.boolean_query([(Occur.Must, first), (Occur.Must, second)])
