"""Orders of a result, and how its pages follow each other.

An order turns a page request into hits. Each hit carries its *place*, a short text; the page
after a hit is asked for by that place.

========== ==================================== ==============================================
order      sorts by                             place of a hit
========== ==================================== ==============================================
updated    last change, newest first            its sort key: pages neither repeat nor skip a
downloads  downloads as last indexed, most      model however many come or go in between, but
           first                                one that changes moves to its new place
name       ``namespace/name``, without case
likeness   same architecture class first, then  class, cosine, graph hash, name: as above
           cosine of structure embeddings,
           then name
relevance  BM25 over weighted fields            its rank: scores move with every change of the
                                                index, so models indexed between two pages may
                                                shift the second by a few ranks; models of
                                                equal score stand in no particular order
========== ==================================== ==============================================
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import tantivy
from django.db.models import Min
from tantivy import Occur, Order
from tantivy import Query as Wanted

from registry.search.documents import BATCH
from registry.search.parser import Sort
from registry.search.schema import SCHEMA, between
from registry.tables import Graph

#: Relevance ranks no deeper; ``sort=name`` walks everything.
DEEPEST_RANK = 10_000
_MOST_STRUCTURES = 10_000


@dataclass(frozen=True, slots=True)
class Hit:
    """Key of an MLModel, and its place in the order."""

    pk: int
    place: str


class Ranking(Protocol):
    """An order of a result."""

    def page(
        self, searcher: tantivy.Searcher, matching: Wanted, after: str, limit: int
    ) -> list[Hit]:
        """At most ``limit`` hits after a place of this order; from the start if it is empty."""


class BySortKey:
    """By a unique key of each document."""

    def __init__(self, sort: Sort) -> None:
        self.field = f"by_{sort}"
        self.order = Order.Asc if sort == "name" else Order.Desc

    def page(
        self, searcher: tantivy.Searcher, matching: Wanted, after: str, limit: int
    ) -> list[Hit]:
        wanted = matching
        if after:
            # Places come out of signed cursors: ``between`` trusts its bounds.
            low, high = (after, "*") if self.order == Order.Asc else ("*", after)
            wanted = _both(matching, between(self.field, low, high))
        return _sorted_hits(searcher, wanted, self.field, limit, self.order)


class ByRelevance:
    """By score, best first."""

    def page(
        self, searcher: tantivy.Searcher, matching: Wanted, after: str, limit: int
    ) -> list[Hit]:
        start = int(after or 0)
        limit = min(limit, DEEPEST_RANK - start)
        if limit <= 0:
            return []
        found = searcher.search(matching, limit, count=False, offset=start).hits
        keys = searcher.fast_field_values("pk", [address for _, address in found])
        return [Hit(int(pk or 0), str(start + rank)) for rank, pk in enumerate(keys, 1)]


class ByLikeness:
    """By the structure of the network: exactly, over the distinct structures of the result.

    Fine-tuned copies share a structure, so there are far fewer structures than models. Counting
    them is the index's work; their embeddings come from the tables.
    """

    def __init__(self, reference: Graph) -> None:
        self.reference = reference

    def page(
        self, searcher: tantivy.Searcher, matching: Wanted, after: str, limit: int
    ) -> list[Hit]:
        reached, name = _read_likeness(after) if after else (None, "")
        hits: list[Hit] = []
        for likeness in self._ranked(_structures(searcher, matching)):
            if reached and likeness.rank < reached.rank:
                continue
            term = Wanted.term_query(SCHEMA, "structure", likeness.structure)
            wanted = _both(matching, term)
            if likeness == reached:
                wanted = _both(wanted, between("by_name", name, "*"))
            found = _sorted_hits(searcher, wanted, "by_name", limit - len(hits), Order.Asc)
            hits.extend(Hit(hit.pk, f"{likeness} {hit.place}") for hit in found)
            if len(hits) == limit:
                break
        return hits

    def _ranked(self, structures: list[str]) -> list["_Likeness"]:
        """The structures, most alike first."""
        wanted = np.asarray(self.reference.embedding, float)
        ranked = []
        for structure, architecture, embedding in _graphs(structures):
            other = np.asarray(embedding, float)
            if other.shape == wanted.shape:
                length = float(np.linalg.norm(wanted) * np.linalg.norm(other)) or 1.0
                cosine = round(float(wanted @ other) / length, 6)
                same = int(architecture == self.reference.architecture_class)
                ranked.append(_Likeness(same, cosine, structure))
        return sorted(ranked, key=lambda likeness: likeness.rank)


@dataclass(frozen=True, slots=True)
class _Likeness:
    """How alike a structure is; the cosine is rounded so that it survives being written."""

    same_class: int
    cosine: float
    structure: str

    def __str__(self) -> str:
        return f"{self.same_class} {self.cosine:.6f} {self.structure}"

    @property
    def rank(self) -> tuple[int, float, str]:
        return -self.same_class, -self.cosine, self.structure


def _read_likeness(place: str) -> tuple[_Likeness, str]:
    """The likeness and the name that a place consists of."""
    same_class, cosine, structure, name = place.split(" ")
    return _Likeness(int(same_class), float(cosine), structure), name


def _structures(searcher: tantivy.Searcher, matching: Wanted) -> list[str]:
    """The distinct structures of a result; of more than :data:`_MOST_STRUCTURES`, the common."""
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
    searcher: tantivy.Searcher, wanted: Wanted, field: str, limit: int, order: Order
) -> list[Hit]:
    """Hits by a sort key, which is their place."""
    found = searcher.search(wanted, limit, count=False, order_by_field=field, order=order).hits
    keys = searcher.fast_field_values("pk", [address for _, address in found])
    return [Hit(int(pk or 0), place) for pk, (place, _) in zip(keys, found, strict=True)]


def _both(first: Wanted, second: Wanted) -> Wanted:
    return Wanted.boolean_query([(Occur.Must, first), (Occur.Must, second)])
