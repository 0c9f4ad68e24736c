"""Models and data sets whose names contain given texts, looked up in the index."""

import math
from collections.abc import Sequence

import tantivy
from tantivy import Occur
from tantivy import Query as IndexQuery

from registry.errors import Unavailable
from registry.search import index
from registry.search.documents import kind_term
from registry.search.schema import SCHEMA, grams_of_part
from registry.states import RepositoryKind

#: Bounds of the keys that a look-up gives.
LEAST_KEYS, MOST_KEYS = 100, 20_000
#: Rows that a database reads in the order of a list in the time in which it reads one by its key.
_ROWS_A_KEY = 10


def keys_containing(kind: RepositoryKind, texts: Sequence[str], *, limit: int) -> list[int] | None:
    """Keys of all repositories whose ``namespace/name`` contains each text, in any case.

    A superset: access, and the order of the letters, are for the caller to check. ``None`` if the
    index is not complete, or there are so many that a reader in the order of the list meets
    ``limit`` of them in less time.
    """
    terms = {gram for text in texts for gram in grams_of_part(text)} - {""}
    if not terms:
        return None
    clauses = [_term("terms", kind_term(kind)), *(_term("grams", gram) for gram in sorted(terms))]
    query = IndexQuery.boolean_query([(Occur.Must, clause) for clause in clauses])

    def keys(searcher: tantivy.Searcher) -> list[int] | None:
        # Of k among n, that reader passes limit * n / k rows.
        even = math.isqrt(limit * searcher.num_docs // _ROWS_A_KEY)
        most = min(max(LEAST_KEYS, even), MOST_KEYS)
        hits = searcher.search(query, most + 1, count=False).hits
        if len(hits) > most:
            return None
        values = searcher.fast_field_values("pk", [address for _, address in hits])
        return [int(key or 0) for key in values]

    try:
        return index.ask(keys)
    except (Unavailable, OSError):
        # Such as a disk that is full: the list is read without the index.
        return None


def _term(field: str, value: str) -> IndexQuery:
    return IndexQuery.term_query(SCHEMA, field, value, index_option="basic")
