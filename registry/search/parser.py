"""The query language of the search box.

::

    query  = { item } ;                        items are separated by white space
    item   = identifier | filter | phrase | word ;
    filter = key , ":" , ( phrase | word ) ;   no space around the colon
    phrase = '"' , text without '"' , '"' ;    the last closing '"' may be missing
    word   = text without white space and '"' ;
    key    = "sort" | name or alias of one of vocabulary.FILTERS ;

``galaxy "spiral arms" task:image-classification by:lab signature:"float32[N,3,64,64]"``,
``latency:<5ms target:x86-64-avx512 tolerance:int8 sort:gain``

All items must match. Of keys with one value per model (``task``, ``license``, ``library``,
``class``, ``by``) several values match any of them; of ``tag`` and ``target`` all must match.
``similar``, ``tolerance`` and ``sort`` may occur once. A word with letters before its first colon
is a filter; in a phrase a colon has no meaning.

``latency``, ``gain`` and ``accuracy`` are of the best build within the tolerance class: on each
``target`` of the query, or each the best on any target if the query names none.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import cast

from registry.errors import Invalid
from registry.ids import NAME_PATTERN
from registry.search import comparisons
from registry.search import signature as signatures
from registry.search.comparisons import Bound
from registry.search.identifiers import identifier_in
from registry.search.signature import Signature
from registry.search.vocabulary import (
    FILTERS,
    KEYS,
    SORTS,
    FilterKind,
    Sort,
    listed,
    name_of,
    suggestion,
)
from registry.states import ToleranceClass

MAX_LENGTH = 500
MAX_ITEMS = 32

#: Filters of which a model has several values, so that all given values must match. Of the others a
#: model has one value, and any of the given values matches.
MANY = tuple(one.column for one in FILTERS.values() if one.kind == FilterKind.ALL)

_ITEM = re.compile(r'(?:(?P<key>[A-Za-z_]+):)?(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<word>[^\s"]*))')
#: ``namespace/name``.
FULL_NAME = re.compile(f"{NAME_PATTERN}/{NAME_PATTERN}")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query, from the text and from separate parameters.

    Attributes:
        words, phrases: Unchanged; the index splits and folds them.
        identifiers: Persistent identifiers, ``ark:...`` or ``doi:10...``.
        identified: The full name of the model of each, which must match; "" if there is none.
        filters: Column of a filter to folded values, sorted.
        signatures: All of them must match.
        bounds: Comparisons of numbers, sorted; all of them must hold.
        tolerance: Tolerance class of the builds whose numbers count; "" if the query has none.
        similar_to: ``namespace/name``, or "".
    """

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    identified: tuple[str, ...] = ()
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    signatures: tuple[Signature, ...] = ()
    bounds: tuple[Bound, ...] = ()
    tolerance: str = ""
    similar_to: str = ""
    sort: Sort = "relevance"

    def filters_of(self, key: str) -> tuple[str, ...]:
        """The values of one filter."""
        return dict(self.filters).get(key, ())

    @property
    def targets(self) -> tuple[str, ...]:
        """Slugs of the targets that the numbers of builds are of; () for any target."""
        return self.filters_of("target")

    @property
    def accepted_tolerance(self) -> ToleranceClass:
        """Tolerance class of the builds that the numbers are of; ``exact`` by default."""
        return ToleranceClass(self.tolerance or ToleranceClass.EXACT)

    def narrowed(self, key: str, values: Iterable[str]) -> "Query":
        """This query with further values of a filter.

        Raises ``Invalid``: ``invalid_query`` if a value is empty or not valid Unicode.
        """
        merged = {*self.filters_of(key), *(_folded(key, value) for value in values)}
        filters = dict(self.filters) | {key: tuple(sorted(merged))}
        return replace(self, filters=tuple(sorted(filters.items())))

    def with_filter(self, key: str, value: str) -> "Query":
        """This query with one more filter, or in another order.

        ``key`` is ``sort``, or a name or alias of a filter. Raises ``Invalid``: ``invalid_query``
        or ``invalid_signature``; the message names what is valid.
        """
        name = name_of(key)
        if name == "sort":
            return self.with_sort(value)
        if name not in FILTERS:
            raise Invalid(
                "invalid_query",
                f"There is no filter {key!r}.{suggestion(key, KEYS)}",
                f"Filters are {', '.join((*FILTERS, 'sort'))}. "
                f'To search for the text itself, quote it: "{key}:..."',
            )
        match FILTERS[name].kind:
            case FilterKind.SIGNATURE:
                return self.with_signature(value)
            case FilterKind.NAME:
                return self.with_similar(value)
            case FilterKind.TOLERANCE:
                return self._with_tolerance(_valid(name, value))
            case FilterKind.NUMBER:
                return self._with_bound(comparisons.parse(name, _text(value)))
        return self.narrowed(FILTERS[name].column, [_valid(name, value)])

    def with_signature(self, text: str) -> "Query":
        """This query with a further signature. Raises ``Invalid``: ``invalid_signature``."""
        return replace(self, signatures=(*self.signatures, signatures.parse(text)))

    def with_similar(self, full_name: str) -> "Query":
        """This query, ranked by similarity to a model. Raises ``Invalid``: ``invalid_query``."""
        if not FULL_NAME.fullmatch(full_name):
            raise Invalid(
                "invalid_query",
                "similar needs the full name of a model.",
                "Write similar:namespace/name",
            )
        if self.similar_to and self.similar_to.lower() != full_name.lower():
            raise _given_twice("similar")
        return replace(self, similar_to=full_name)

    def with_sort(self, sort: str) -> "Query":
        """This query in another order. Raises ``Invalid``: ``invalid_query``."""
        if sort not in SORTS:
            raise Invalid(
                "invalid_query",
                f"There is no order {sort[:40]!r}.{suggestion(sort, SORTS)}",
                f"Orders are {', '.join(SORTS)}.",
            )
        return replace(self, sort=cast("Sort", sort))

    def _with_bound(self, bound: Bound) -> "Query":
        return replace(self, bounds=tuple(sorted({*self.bounds, bound})))

    def _with_tolerance(self, tolerance: str) -> "Query":
        if self.tolerance and self.tolerance != tolerance:
            raise _given_twice("tolerance")
        return replace(self, tolerance=tolerance)


def parse(text: str) -> Query:
    """Parse the text of the search box.

    Raises ``Invalid``: ``invalid_query`` (too long, unknown key or value, empty or repeated value)
    or ``invalid_signature``.
    """
    if len(text) > MAX_LENGTH:
        raise Invalid(
            "invalid_query",
            f"The query has {len(text)} characters; at most {MAX_LENGTH} are allowed.",
            "Leave out some words.",
        )
    query, sorted_by = Query(), ""
    words: list[str] = []
    phrases: list[str] = []
    identifiers: list[str] = []
    items = [item for item in _ITEM.finditer(_text(text)) if item[0]]
    if len(items) > MAX_ITEMS:
        raise Invalid(
            "invalid_query",
            f"The query has {len(items)} parts; at most {MAX_ITEMS} are allowed.",
            "Leave out some words.",
        )
    for item in items:
        key, phrase, word = item["key"], item["phrase"], item["word"]
        value = word if phrase is None else phrase
        if phrase is None and (identifier := identifier_in(item[0])):
            identifiers.append(identifier)
        elif key is None:
            if phrase is None:
                words.append(word)
            elif phrase.strip():
                phrases.append(phrase)
        elif key.lower() == "sort" and sorted_by:
            raise _given_twice("sort")
        else:
            query = query.with_filter(key.lower(), value)
            sorted_by = value if key.lower() == "sort" else sorted_by
    return replace(
        query, words=tuple(words), phrases=tuple(phrases), identifiers=tuple(identifiers)
    )


def fold(value: str) -> str:
    """A filter value for comparison: lower case, without surrounding white space."""
    return value.strip().lower()


def _valid(name: str, value: str) -> str:
    """A folded value of a filter. Raises ``Invalid``: ``invalid_query``, with the valid values."""
    folded = _folded(name, value)
    valid = FILTERS[name].values
    if valid and folded not in valid:
        raise Invalid(
            "invalid_query",
            f"There is no {name} {folded[:40]!r}.{suggestion(folded, valid)}",
            f"Valid values are {listed(valid)}.",
        )
    return folded


def _folded(key: str, value: str) -> str:
    folded = fold(_text(value))
    if not folded:
        raise Invalid(
            "invalid_query", f"{key} has no value.", f"Write {key}:value, without a space."
        )
    return folded


def _text(value: str) -> str:
    """Reject lone surrogates, which the index cannot encode."""
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise Invalid(
            "invalid_query",
            f"Character {error.start + 1} of the query is not valid Unicode.",
            "Send the query as UTF-8.",
        ) from error
    return value


def _given_twice(key: str) -> Invalid:
    return Invalid("invalid_query", f"{key} is given twice.", "Keep one of them.")
