"""A :class:`~registry.search.parser.Query` as the index understands it.

Filters only choose, text also ranks: all clauses but those of words weigh nothing. A word finds a
document that has it in any text field, or has a word beginning with it in one of the short ones;
a phrase stands in one field as it is. Every word and phrase must be found.
"""

from collections.abc import Iterable, Sequence

from tantivy import Occur
from tantivy import Query as Wanted

from registry.search import fit
from registry.search.parser import MANY, Query
from registry.search.schema import PREFIX_FIELDS, SCHEMA, TEXT_FIELDS, term, words

# A word that only begins a document's word says less than the word itself.
_PREFIX_WEIGHT = 0.2
# Whoever types a model's full name wants that model first.
_FULL_NAME_SCORE = 100.0


def matching(query: Query, readers: Sequence[str], *, without: str = "") -> Wanted:
    """The documents that match.

    Args:
        readers: Terms of ``documents.reader_*``; a document needs one of them.
        without: A filter to leave out, so that its other values can be counted.
    """
    must = [_any_of(readers)]
    for key, values in query.filters:
        if key == without:
            continue
        held = [term(key, value) for value in values]
        must.extend(_any_of([one]) for one in held) if key in MANY else must.append(_any_of(held))
    for signature in query.signatures:
        must.extend(_any_of(clause) for clause in fit.clauses(signature))
    if query.similar_to:
        must.append(_any_of([term("has", "structure")]))
    texts = [_word(word) for text in query.words for word in words(text)]
    texts += [_phrase(found) for text in query.phrases if (found := words(text))]
    clauses = [(Occur.Must, clause) for clause in (*must, *texts)]
    if query.similar_to:
        clauses.append((Occur.MustNot, _named(query.similar_to)))
    clauses.extend(
        (Occur.Should, Wanted.const_score_query(_named(word), _FULL_NAME_SCORE))
        for word in query.words
    )
    return Wanted.boolean_query(clauses)


def has_words(query: Query) -> bool:
    """Whether the query has text to rank by."""
    return any(words(text) for text in (*query.words, *query.phrases))


def _any_of(held: Iterable[str]) -> Wanted:
    return Wanted.const_score_query(Wanted.term_set_query(SCHEMA, "terms", list(held)), 0.0)


def _named(full_name: str) -> Wanted:
    return Wanted.term_query(SCHEMA, "by_name", full_name.lower())


def _word(word: str) -> Wanted:
    found = [
        Wanted.boost_query(Wanted.term_query(SCHEMA, field, word), weight)
        for field, weight in TEXT_FIELDS.items()
    ]
    if len(word) > 1:
        found += [
            Wanted.const_score_query(
                # Within distance 0: exactly. Unlike a regex it costs nothing to compile.
                Wanted.fuzzy_term_query(SCHEMA, field, word, distance=0, prefix=True),
                TEXT_FIELDS[field] * _PREFIX_WEIGHT,
            )
            for field in PREFIX_FIELDS
        ]
    return Wanted.boolean_query([(Occur.Should, clause) for clause in found])


def _phrase(found: list[str]) -> Wanted:
    def clause(field: str) -> Wanted:
        if len(found) == 1:
            return Wanted.term_query(SCHEMA, field, found[0])
        return Wanted.phrase_query(SCHEMA, field, list(found))

    weighed = [Wanted.boost_query(clause(field), weight) for field, weight in TEXT_FIELDS.items()]
    return Wanted.boolean_query([(Occur.Should, one) for one in weighed])
