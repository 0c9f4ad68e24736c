"""Sentences on values of a query that no model has: what is most like them, what there is."""

import tantivy

from registry.search import plan
from registry.search.counts import number_of, values_of
from registry.search.parser import Query
from registry.search.schema import FACETS, term
from registry.search.vocabulary import FILTERS, Filter, listed, suggestion

#: Letters that a suggested name has in common with the unknown one, and names that are compared.
_SAME_LETTERS, _MOST_NAMES = 2, 1000


def hints_of(searcher: tantivy.Searcher, parsed: Query, readers: list[str]) -> tuple[str, ...]:
    """A sentence for each filter value that no readable model has.

    DANGER: only what the readers see may be named, or be told apart from what nobody has.
    """
    by_column = {one.column: one for one in FILTERS.values() if one.column}
    readable = plan.any_of(readers)
    return tuple(
        _hint(searcher, by_column[column], value, readers)
        for column, values in parsed.filters
        for value in values
        if not number_of(searcher, plan.both(readable, plan.any_of([term(column, value)])))
    )


def _hint(searcher: tantivy.Searcher, one: Filter, value: str, readers: list[str]) -> str:
    if one.column in FACETS:
        valid = values_of(searcher, one.column, readers)
        shown = f" Values are {listed(valid)}." if valid else ""
    else:
        # Owners are too many to list.
        valid, shown = _names_like(searcher, one, value, readers), ""
    return f"No model has {one.name}:{value[:64]}.{suggestion(value, valid)}{shown}"


def _names_like(
    searcher: tantivy.Searcher, one: Filter, value: str, readers: list[str]
) -> list[str]:
    beginning = term(one.column, value[:_SAME_LETTERS])
    terms = searcher.terms_with_prefix("terms", beginning, plan.any_of(readers), _MOST_NAMES)
    return [name.partition("=")[2] for name, _ in terms]
