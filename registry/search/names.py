"""Models and data sets whose names contain given texts, looked up in the index."""

from collections.abc import Sequence

import tantivy
from tantivy import Occur
from tantivy import Query as IndexQuery

from registry.errors import Unavailable
from registry.search import index
from registry.search.documents import kind_term
from registry.search.schema import SCHEMA, grams_of_part
from registry.states import RepositoryKind

#: Keys up to which a look-up gives an answer. Of more repositories, a reader in the order of its
#: list soon meets enough of them.
MOST_KEYS = 20_000


def keys_containing(kind: RepositoryKind, texts: Sequence[str]) -> list[int] | None:
    """Keys of all repositories whose ``namespace/name`` contains each text, in any case.

    A superset: access, and the order of the letters, are for the caller to check. ``None`` if there
    are more than :data:`MOST_KEYS` or the index is not complete.
    """
    terms = {gram for text in texts for gram in grams_of_part(text)} - {""}
    if not terms:
        return None
    clauses = [_term("terms", kind_term(kind)), *(_term("grams", gram) for gram in sorted(terms))]
    query = IndexQuery.boolean_query([(Occur.Must, clause) for clause in clauses])

    def keys(searcher: tantivy.Searcher) -> list[int] | None:
        hits = searcher.search(query, MOST_KEYS + 1, count=False).hits
        if len(hits) > MOST_KEYS:
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
