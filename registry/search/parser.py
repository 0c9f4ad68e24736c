"""The query language of the search box.

::

    query  = { item } ;                        items are separated by white space
    item   = filter | phrase | word ;
    filter = key , ":" , ( phrase | word ) ;   no space around the colon
    phrase = '"' , text without '"' , '"' ;    the last closing '"' may be missing
    word   = text without white space and '"' ;
    key    = "task" | "license" | "licence" | "library" | "tag" | "class" | "by" | "target"
           | "signature" | "similar" | "sort" ;

``galaxy "spiral arms" task:image-classification by:lab signature:"float32[N,3,64,64]"``

All items must match. Of keys with one value per model (``task``, ``license``, ``library``,
``class``, ``by``) several values match any of them; of ``tag`` and ``target`` all must match.
``similar`` and ``sort`` may occur once. A word with letters before its first colon is a filter; in
a phrase a colon has no meaning.
"""

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from registry.errors import Invalid
from registry.ids import NAME_PATTERN
from registry.search import signature as signatures
from registry.search.signature import Signature

MAX_LENGTH = 500
MAX_ITEMS = 32

Sort = Literal["relevance", "updated", "downloads", "name"]
SORTS: tuple[Sort, ...] = ("relevance", "updated", "downloads", "name")

#: Filters of which a model has several values, so that all given values must match. Of the others a
#: model has one value, and any of the given values matches.
MANY = ("tag", "target")

_FILTER_OF_KEY = {
    "task": "task",
    "license": "license",
    "licence": "license",
    "library": "library",
    "tag": "tag",
    "class": "architecture_class",
    "by": "namespace",
    "target": "target",
}
KEYS = (*_FILTER_OF_KEY, "signature", "similar", "sort")

_ITEM = re.compile(r'(?:(?P<key>[A-Za-z_]+):)?(?:"(?P<phrase>[^"]*)(?:"|$)|(?P<word>[^\s"]*))')
#: ``namespace/name``.
FULL_NAME = re.compile(f"{NAME_PATTERN}/{NAME_PATTERN}")


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query, from the text and from separate parameters.

    Attributes:
        words, phrases: Unchanged; the index splits and folds them.
        filters: Filter name to folded values, sorted.
        signatures: All of them must match.
        similar_to: ``namespace/name``, or "".
    """

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    filters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    signatures: tuple[Signature, ...] = ()
    similar_to: str = ""
    sort: Sort = "relevance"

    def filters_of(self, key: str) -> tuple[str, ...]:
        """The values of one filter."""
        return dict(self.filters).get(key, ())

    def narrowed(self, key: str, values: Iterable[str]) -> "Query":
        """This query with further values of a filter.

        Raises ``Invalid``: ``invalid_query`` if a value is empty or not valid Unicode.
        """
        merged = {*self.filters_of(key), *(_folded(key, value) for value in values)}
        filters = dict(self.filters) | {key: tuple(sorted(merged))}
        return replace(self, filters=tuple(sorted(filters.items())))

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
            raise Invalid("invalid_query", "similar is given twice.", "Keep one of them.")
        return replace(self, similar_to=full_name)

    def with_sort(self, sort: str) -> "Query":
        """This query in another order. Raises ``Invalid``: ``invalid_query``."""
        if sort not in SORTS:
            raise Invalid(
                "invalid_query",
                f"There is no order {sort[:40]!r}.{_suggestion(sort, SORTS)}",
                f"Orders are {', '.join(SORTS)}.",
            )
        return replace(self, sort=sort)


def parse(text: str) -> Query:
    """Parse the text of the search box.

    Raises ``Invalid``: ``invalid_query`` (too long, unknown key, empty or repeated value) or
    ``invalid_signature``.
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
    items = [item for item in _ITEM.finditer(_text(text)) if item[0]]
    if len(items) > MAX_ITEMS:
        raise Invalid(
            "invalid_query",
            f"The query has {len(items)} parts; at most {MAX_ITEMS} are allowed.",
            "Leave out some words.",
        )
    for item in items:
        key, phrase, word = item["key"], item["phrase"], item["word"]
        if key is None:
            if phrase is None:
                words.append(word)
            elif phrase.strip():
                phrases.append(phrase)
        elif key.lower() == "sort" and sorted_by:
            raise Invalid("invalid_query", "sort is given twice.", "Keep one of them.")
        else:
            value = word if phrase is None else phrase
            query = _with(query, key.lower(), value)
            sorted_by = value if key.lower() == "sort" else sorted_by
    return replace(query, words=tuple(words), phrases=tuple(phrases))


def fold(value: str) -> str:
    """A filter value for comparison: lower case, without surrounding white space."""
    return value.strip().lower()


def _with(query: Query, key: str, value: str) -> Query:
    if key in _FILTER_OF_KEY:
        return query.narrowed(_FILTER_OF_KEY[key], [value])
    if key == "signature":
        return query.with_signature(value)
    if key == "similar":
        return query.with_similar(value)
    if key == "sort":
        return query.with_sort(value)
    raise Invalid(
        "invalid_query",
        f"There is no filter {key!r}.{_suggestion(key, KEYS)}",
        f'Filters are {", ".join(KEYS)}. To search for the text itself, quote it: "{key}:..."',
    )


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


def _suggestion(word: str, valid: Iterable[str]) -> str:
    near = difflib.get_close_matches(word.lower(), list(valid), n=1)
    return f" Did you mean {near[0]}?" if near else ""
