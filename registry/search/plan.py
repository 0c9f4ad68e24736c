"""Translates a :class:`~registry.search.parser.Query` into a query of the index.

Filters select documents; only words and phrases contribute to the score. A word matches in any text
field, and as the beginning of a word in the short fields; a phrase matches within one field. All
words and phrases must match.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter

from tantivy import Occur
from tantivy import Query as IndexQuery

from registry.search import fit
from registry.search.comparisons import limits
from registry.search.parser import MANY, Query
from registry.search.schema import (
    ANY,
    PREFIX_FIELDS,
    SCHEMA,
    TEXT_FIELDS,
    speed_path,
    term,
    within,
    words,
)
from registry.search.vocabulary import NUMBERS

# Weight of a match of the beginning of a word, relative to a whole word.
_PREFIX_WEIGHT = 0.2
# Number of terms from which a set of them is cheaper than a clause for each.
_MANY_TERMS = 16
# A model whose full name is in the query comes first.
_FULL_NAME_SCORE = 100.0


def matching(query: Query, readers: Sequence[str], *, without: str = "") -> IndexQuery:
    """The documents that match.

    Args:
        readers: Terms of ``documents.reader_*``, one of which a document must have.
        without: A filter to leave out, so that its other values can be counted.
    """
    must = [any_of(readers)]
    # No model has the empty name.
    must.extend(IndexQuery.const_score_query(_named(name), 0.0) for name in query.identified)
    for key, values in query.filters:
        if key == without:
            continue
        terms = [term(key, value) for value in values]
        must.extend(any_of([one]) for one in terms) if key in MANY else must.append(any_of(terms))
    for signature in query.signatures:
        must.extend(any_of(clause) for clause in fit.clauses(signature))
    must.extend(_compared(query))
    if query.similar_to:
        must.append(any_of([term("has", "structure")]))
    texts = [_word(word) for text in query.words for word in words(text)]
    texts += [_phrase(pieces) for text in query.phrases if (pieces := words(text))]
    clauses = [(Occur.Must, clause) for clause in (*must, *texts)]
    if query.similar_to:
        clauses.append((Occur.MustNot, _named(query.similar_to)))
    clauses.extend(
        (Occur.Should, IndexQuery.const_score_query(_named(word), _FULL_NAME_SCORE))
        for word in query.words
    )
    return IndexQuery.boolean_query(clauses)


def is_unfiltered(query: Query) -> bool:
    """Whether all readable documents match."""
    filters = query.filters or query.signatures or query.bounds or query.similar_to
    return not (filters or query.identified or has_words(query))


def has_words(query: Query) -> bool:
    """Whether the query has text to rank by."""
    return any(words(text) for text in (*query.words, *query.phrases))


def path_of(name: str, query: Query, target: str = ANY) -> str:
    """Where the index holds a number of ``vocabulary.NUMBERS``.

    ``target`` is the slug of a registered target, or ``schema.ANY``.
    """
    number = NUMBERS[name]
    if not number.is_speed:
        return number.column
    return speed_path(target, query.accepted_tolerance, number.column)


def both(first: IndexQuery, second: IndexQuery) -> IndexQuery:
    """Documents that match two queries."""
    return IndexQuery.boolean_query([(Occur.Must, first), (Occur.Must, second)])


def but(first: IndexQuery, second: IndexQuery) -> IndexQuery:
    """Documents that match the first query and not the second."""
    return IndexQuery.boolean_query([(Occur.Must, first), (Occur.MustNot, second)])


def any_of(terms: Iterable[str]) -> IndexQuery:
    """Documents with at least one of these terms, without a score."""
    terms = list(terms)
    if len(terms) > _MANY_TERMS:
        query = IndexQuery.term_set_query(SCHEMA, "terms", terms)
    else:
        # A set of terms reads all documents of each before the first result. This reads those that
        # the other clauses leave.
        each = [IndexQuery.term_query(SCHEMA, "terms", one, index_option="basic") for one in terms]
        query = (
            each[0]
            if len(each) == 1
            else IndexQuery.boolean_query([(Occur.Should, one) for one in each])
        )
    return IndexQuery.const_score_query(query, 0.0)


def _compared(query: Query) -> Iterator[IndexQuery]:
    """Clauses of the comparisons; those of builds must hold on each target of the query."""
    for name, bounds in itertools.groupby(query.bounds, attrgetter("name")):
        low, high = limits(bounds)
        targets = query.targets if NUMBERS[name].is_speed else ()
        for target in targets or (ANY,):
            yield within(path_of(name, query, target), low, high)


def _named(full_name: str) -> IndexQuery:
    return IndexQuery.term_query(SCHEMA, "by_name", full_name.lower())


def _word(word: str) -> IndexQuery:
    clauses = [
        IndexQuery.boost_query(IndexQuery.term_query(SCHEMA, field, word), weight)
        for field, weight in TEXT_FIELDS.items()
    ]
    if len(word) > 1:
        clauses += [
            IndexQuery.const_score_query(
                # Distance 0 is an exact match; unlike a regular expression it needs no compilation.
                IndexQuery.fuzzy_term_query(SCHEMA, field, word, distance=0, prefix=True),
                TEXT_FIELDS[field] * _PREFIX_WEIGHT,
            )
            for field in PREFIX_FIELDS
        ]
    return IndexQuery.boolean_query([(Occur.Should, clause) for clause in clauses])


def _phrase(pieces: list[str]) -> IndexQuery:
    def clause(field: str) -> IndexQuery:
        if len(pieces) == 1:
            return IndexQuery.term_query(SCHEMA, field, pieces[0])
        return IndexQuery.phrase_query(SCHEMA, field, list(pieces))

    weighted = [
        IndexQuery.boost_query(clause(field), weight) for field, weight in TEXT_FIELDS.items()
    ]
    return IndexQuery.boolean_query([(Occur.Should, one) for one in weighted])
