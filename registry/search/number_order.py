"""The order of results by a number: parameters, bytes, FAIR score, latency, gain, accuracy.

Equal numbers are sorted by the key of the MLModel, newest first, and documents without the number
come last in the same order, so that the order is total. A position is the encoded number, or "-"
without one, and the key: pages neither repeat nor skip a model.
"""

import tantivy
from tantivy import Occur
from tantivy import Query as IndexQuery

from registry.search import sampling
from registry.search.comparisons import LARGEST
from registry.search.orders import Hit
from registry.search.plan import both, but
from registry.search.schema import within

_WITHOUT = "-"


class ByNumber:
    """By a numeric field, or a path of ``schema.speed_path``."""

    def __init__(self, path: str, *, is_ascending: bool) -> None:
        self.path, self.is_ascending = path, is_ascending
        # The aggregation returns signed columns, which those of paths are, as unsigned integers.
        self._offset = 2**63 if "." in path else 0

    def page(
        self, searcher: tantivy.Searcher, matching: IndexQuery, after: str, limit: int
    ) -> list[Hit]:
        number, _, pk = after.partition(" ")
        hits: list[Hit] = []
        if number != _WITHOUT:
            query = self._following(matching, int(number), int(pk)) if after else None
            hits = self._hits(searcher, query or both(matching, self._all()), limit)
        if len(hits) < limit:
            rest = but(matching, self._all())
            if number == _WITHOUT:
                rest = both(rest, within("pk", 0, int(pk) - 1))
            without = _top(searcher, rest, "pk", limit - len(hits), is_ascending=False)
            hits += [Hit(key, f"{_WITHOUT} {key}") for _, key in without]
        return hits

    def _hits(self, searcher: tantivy.Searcher, query: IndexQuery, limit: int) -> list[Hit]:
        narrowed = sampling.narrowed(searcher, query, limit, self._bound)
        top = self._top(searcher, narrowed, limit)
        if len(top) < limit and narrowed is not query:
            top = self._top(searcher, query, limit)
        return [Hit(pk, f"{number} {pk}") for number, pk in top]

    def _following(self, matching: IndexQuery, number: int, pk: int) -> IndexQuery:
        """The documents after a position."""
        equal = both(within(self.path, number, number), within("pk", 0, pk - 1))
        beyond = (number + 1, LARGEST) if self.is_ascending else (0, number - 1)
        later = [(Occur.Should, equal), (Occur.Should, within(self.path, *beyond))]
        return both(matching, IndexQuery.boolean_query(later))

    def _bound(
        self, searcher: tantivy.Searcher, query: IndexQuery, depth: int
    ) -> IndexQuery | None:
        top = self._top(searcher, query, depth)
        if len(top) < depth:
            return None
        last = top[-1][0]
        return within(self.path, *((0, last) if self.is_ascending else (last, LARGEST)))

    def _all(self) -> IndexQuery:
        return within(self.path, 0, LARGEST)

    def _top(
        self, searcher: tantivy.Searcher, query: IndexQuery, limit: int
    ) -> list[tuple[int, int]]:
        top = _top(searcher, query, self.path, limit, is_ascending=self.is_ascending)
        return [(number - self._offset, pk) for number, pk in top]


def _top(
    searcher: tantivy.Searcher, query: IndexQuery, path: str, limit: int, *, is_ascending: bool
) -> list[tuple[int, int]]:
    """Number and key of the first documents; all of them have the number."""
    order = [{path: "asc" if is_ascending else "desc"}, {"pk": "desc"}]
    answer = searcher.aggregate(query, {"top": {"top_hits": {"sort": order, "size": limit}}})
    return [(int(hit["sort"][0]), int(hit["sort"][1])) for hit in answer["top"]["hits"]]
