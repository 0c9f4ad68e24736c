"""Totals and facets of results: exact for small results, capped and estimated for large ones.

Random shares of the documents have a term each (``schema.SHARES``). The count in the smallest one
tells whether a result is large; the facets of a large one are counted in the share that has at most
:data:`EXACT` documents of it, and scaled. So a count costs about the same for any result.

Without any filter, the counts of all public documents are exact: a thread counts them at most once
in :data:`OVERVIEW_S`, and signed-in readers get their own private documents added. DANGER: only the
counts of public documents may be shared between readers.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import tantivy
from tantivy import Query as IndexQuery

from registry.search import generations, plan
from registry.search.documents import reader_public
from registry.search.generations import Broken, engine
from registry.search.parser import Query
from registry.search.schema import FACETS, SHARES, SMALLEST, share_term

Facets: TypeAlias = dict[str, list[tuple[str, int]]]

#: Upper bound on listed values of a facet.
FACET_VALUES = 50
#: Results up to about this size are counted exactly; of larger ones the total is "at least" this.
EXACT = 10_000
#: Seconds for which the counts of all public documents are used again.
OVERVIEW_S = 60.0
# Upper bound on counted values of a facet; the rarest are left out. DANGER: tantivy rejects more
# than 65,000 counts over all facets.
_COUNTED_VALUES = 5_000


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of documents of a result.

    Attributes:
        total: All; at least as many unless ``total_is_exact``.
        facets: Facet to ``(folded value, count)``, most frequent first; estimates with two
            significant digits unless ``facets_are_exact``.
    """

    total: int = 0
    total_is_exact: bool = True
    facets: Facets = field(default_factory=dict)
    facets_are_exact: bool = True


def counts_of(searcher: tantivy.Searcher, parsed: Query, readers: Sequence[str]) -> Counts:
    """The counts of a query for readers with these terms, public documents first."""
    if plan.is_unfiltered(parsed) and readers[0] == reader_public() and _is_large(searcher):
        public = _overview(searcher)
        if public is not None:
            private = plan.but(plan.any_of(readers[1:]), plan.any_of(readers[:1]))
            own = _counts(searcher, [(private, FACETS)], private) if readers[1:] else Counts()
            return _merged(public, own)
    matching = plan.matching(parsed, readers)
    return _counts(searcher, _counting(parsed, readers, matching), matching)


def values_of(searcher: tantivy.Searcher, facet: str, readers: Sequence[str]) -> list[str]:
    """Values of a facet that these readers see, most frequent first.

    Of a large hub those of a share of the models.
    """
    query = plan.any_of(readers)
    divisor = _divisor(searcher, query)
    counted = _facets(searcher, query, [facet], divisor, _COUNTED_VALUES)
    return [value for value, _ in counted[facet]]


def number_of(searcher: tantivy.Searcher, query: IndexQuery) -> int:
    """Number of documents that match."""
    # The binding's type stub lacks ``count``.
    return int(searcher.search(query, 1).count)  # type: ignore[attr-defined]


def _counting(
    parsed: Query, readers: Sequence[str], matching: IndexQuery
) -> list[tuple[IndexQuery, Sequence[str]]]:
    """Queries with the facets to count: each filtered facet by itself, all others together."""
    filtered = [facet for facet in FACETS if parsed.filters_of(facet)]
    free = [facet for facet in FACETS if facet not in filtered]
    counting: list[tuple[IndexQuery, Sequence[str]]] = [
        (plan.matching(parsed, readers, without=facet), [facet]) for facet in filtered
    ]
    return [*counting, (matching, free)] if free else counting


def _counts(
    searcher: tantivy.Searcher,
    counting: Sequence[tuple[IndexQuery, Sequence[str]]],
    matching: IndexQuery,
) -> Counts:
    is_exact = _divisor(searcher, matching) == 1
    facets: Facets = {}
    all_exact = True
    for query, names in counting:
        divisor = _divisor(searcher, query)
        all_exact = all_exact and divisor == 1
        facets |= _facets(searcher, query, names, divisor)
    total = number_of(searcher, matching) if is_exact else EXACT
    return Counts(total, is_exact, {name: facets[name] for name in FACETS}, all_exact)


def _divisor(searcher: tantivy.Searcher, query: IndexQuery) -> int:
    """The share in which to count a result: 1 for all, of at most :data:`EXACT`."""
    if not _is_large(searcher):
        return 1
    estimate = SMALLEST * number_of(searcher, _within(query, SMALLEST))
    if estimate <= EXACT:
        return 1
    return next((one for one in reversed(SHARES) if estimate <= one * EXACT), SMALLEST)


def _facets(
    searcher: tantivy.Searcher,
    query: IndexQuery,
    names: Sequence[str],
    divisor: int,
    listed: int = FACET_VALUES,
) -> Facets:
    most = {"size": _COUNTED_VALUES, "segment_size": _COUNTED_VALUES}
    request = {name: {"terms": {"field": name, **most}} for name in names}
    counted = searcher.aggregate(query if divisor == 1 else _within(query, divisor), request)
    return {
        name: _ordered(
            {
                bucket["key"]: _scaled(int(bucket["doc_count"]), divisor)
                for bucket in counted[name]["buckets"]
            },
            listed,
        )
        for name in names
    }


def _scaled(count: int, divisor: int) -> int:
    return count if divisor == 1 else int(float(f"{count * divisor:.1e}"))


def _ordered(values: Mapping[str, int], listed: int) -> list[tuple[str, int]]:
    return sorted(values.items(), key=lambda one: (-one[1], one[0]))[:listed]


def _within(query: IndexQuery, divisor: int) -> IndexQuery:
    return plan.both(query, plan.any_of([share_term(divisor)]))


def _is_large(searcher: tantivy.Searcher) -> bool:
    return searcher.num_docs > EXACT


def _merged(public: Counts, own: Counts) -> Counts:
    facets = {
        name: _ordered(
            Counter(dict(public.facets[name])) + Counter(dict(own.facets.get(name, []))),
            FACET_VALUES,
        )
        for name in FACETS
    }
    return Counts(
        public.total + own.total,
        public.total_is_exact and own.total_is_exact,
        facets,
        public.facets_are_exact and own.facets_are_exact,
    )


_overviews: dict[Path, tuple[float, Counts]] = {}
_counting_lock = threading.Lock()


def _overview(searcher: tantivy.Searcher) -> Counts | None:
    """Exact counts of all public documents as last counted; ``None`` before they were.

    Its facets have all counted values.
    """
    key = generations.folder()
    counted_at, counts = _overviews.get(key, (-OVERVIEW_S, None))
    if time.monotonic() - counted_at >= OVERVIEW_S and _counting_lock.acquire(blocking=False):
        threading.Thread(target=_count_overview, args=(searcher, key), daemon=True).start()
    return counts


def _count_overview(searcher: tantivy.Searcher, key: Path) -> None:
    try:
        public = plan.any_of([reader_public()])
        with engine():
            facets = _facets(searcher, public, FACETS, 1, _COUNTED_VALUES)
            counts = Counts(number_of(searcher, public), facets=facets)
        _overviews[key] = time.monotonic(), counts
    except Broken:
        # The generation was replaced meanwhile; a later search counts in the new one.
        return
    finally:
        _counting_lock.release()
