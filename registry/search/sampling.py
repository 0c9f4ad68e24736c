"""Bounds of a sorted page, estimated from a random share of the documents.

Sorting reads the sort keys of all matching documents. A share of them tells how far the first hits
are likely to reach; only the documents up to there are sorted.
"""

from collections.abc import Callable

import tantivy
from tantivy import Query as IndexQuery

from registry.search.plan import any_of, both
from registry.search.schema import SMALLEST, share_term

#: Documents from which sort keys are bounded, and least hits in the share that give the bound.
LARGE, LEAST_HITS = 200_000, 8


def narrowed(
    searcher: tantivy.Searcher,
    query: IndexQuery,
    limit: int,
    bound: Callable[[tantivy.Searcher, IndexQuery, int], IndexQuery | None],
) -> IndexQuery:
    """``query`` with a bound of the sort key, within which the first ``limit`` hits are likely.

    The caller repeats the search without the bound if it has fewer hits; ``query`` itself is
    returned for a small index or result.

    Args:
        bound: From the documents of a query and a number of hits to the documents that sort before
            the last of these hits; ``None`` if there are fewer hits.
    """
    if searcher.num_docs <= LARGE:
        return query
    depth = max(LEAST_HITS, 4 * limit // SMALLEST)
    first = bound(searcher, both(query, any_of([share_term(SMALLEST)])), depth)
    return query if first is None else both(query, first)
