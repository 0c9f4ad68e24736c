"""Fields of index documents, and the tokenisation of text.

============== ========================================================= =====================
field          holds                                                     serves
============== ========================================================= =====================
uuid           the MLModel's uuid, ``cursor`` or ``building``            replacement, deletion
pk             the MLModel's key                                         look-up of rows
terms          ``key=value`` in folded case, see :func:`term`            filters, access
name ... body  words, for :data:`TEXT_FIELDS`                            text search, ranking
by_*           one key per document, unique, that sorts as text          orders and their pages
facets         folded values of :data:`FACETS`                           counts
structure      graph hash                                                order by similarity
grams          runs of 1 to 3 letters of ``namespace/name``              parts of names
parameters     numbers, encoded by ``comparisons.encode``                comparisons, orders
size, fair     as above                                                  as above
speed          target, tolerance class, column: an encoded number; of    as above
               target :data:`ANY`, the best on any target
cursor         of documents about the index itself: their content        following the tables
============== ========================================================= =====================
"""

import itertools
import re
from collections.abc import Iterable
from uuid import UUID

import tantivy

#: Increment it with any change here, in ``documents.py`` or in the meaning of a term: an index of
#: another version is rebuilt.
VERSION = 5

#: Text fields with the weight of a match in them.
TEXT_FIELDS = {"name": 8.0, "title": 5.0, "keywords": 3.0, "description": 2.0, "body": 1.0}
#: Short fields, in which the beginning of a word matches as well.
PREFIX_FIELDS = ("name", "title", "keywords")

FACETS = ("task", "license", "library", "architecture_class", "tag", "target")

#: Documents about the index itself: its position in the outbox, and during a build the key of the
#: last MLModel that it has.
CURSOR_UUID, BUILDING_UUID = "cursor", "building"
#: Random shares of the documents, as divisors: one in 64, of which each next one has twice as many.
#: Numbers of large results are estimated from them.
SHARES = (64, 32, 16, 8, 4, 2)
#: The smallest share.
SMALLEST = SHARES[0]
#: Target of the numbers that are each the best on any target; no slug has an underscore.
ANY = "_any"
_GRAM = 3
_LONGEST_WORD = 64
_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field("uuid", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("pk", fast=True)
    builder.add_text_field("terms", tokenizer_name="raw", index_option="basic")
    for name in TEXT_FIELDS:
        builder.add_text_field(name, tokenizer_name="words")
    for name in ("by_updated", "by_downloads", "by_name", *FACETS, "structure"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic", fast=True)
    for name in ("parameters", "size", "fair"):
        builder.add_unsigned_field(name, fast=True)
    # A column for each path, so that targets need not be known in advance.
    builder.add_json_field("speed", fast=True, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("grams", tokenizer_name="raw", index_option="basic")
    builder.add_bytes_field("cursor", stored=True)
    return builder.build()


def _analyser() -> tantivy.TextAnalyzer:
    """Words are runs of letters and digits, without case and accents."""
    return (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(_LONGEST_WORD))
        .filter(tantivy.Filter.lowercase())
        .filter(tantivy.Filter.ascii_fold())
        .build()
    )


SCHEMA = _schema()
ANALYSER = _analyser()
# An empty index, for queries that the binding can only build from text.
_PARSER = tantivy.Index(SCHEMA)


def term(key: str, value: str) -> str:
    """The term of field ``terms`` for a folded value."""
    return f"{key}={value}"


def words(text: str) -> list[str]:
    """The words of a text as indexed: ``lab/Digits-CNN`` becomes lab, digits, cnn."""
    return list(ANALYSER.analyze(text))


def between(field: str, low: str, high: str) -> tantivy.Query:
    """Documents whose key in ``field`` lies strictly between two bounds; ``"*"`` means none.

    DANGER: the bounds become part of the query's text: only letters, digits and ``._-/`` are safe.
    """
    return _PARSER.parse_query(f"{field}:{{{low} TO {high}}}", [field])


def speed_path(target: str, tolerance: str, column: str) -> str:
    """Where ``speed`` holds a number of the best build; ``target`` is a slug or :data:`ANY`."""
    return f"speed.{target}.{tolerance}.{column}"


def within(path: str, low: int, high: int) -> tantivy.Query:
    """Documents whose number lies between two encoded bounds, both included, without a score.

    ``path`` is a numeric field or of :func:`speed_path`. DANGER: a path becomes part of the query's
    text: only lower-case letters, digits, hyphens and underscores are safe in its parts.
    """
    if low > high:
        return tantivy.Query.empty_query()
    if "." in path:
        query = _PARSER.parse_query(f"{path}:[{low} TO {high}]", ["speed"])
    else:
        kind = tantivy.FieldType.Unsigned
        query = tantivy.Query.range_query(SCHEMA, path, kind, low, high)
    return tantivy.Query.const_score_query(query, 0.0)


def share_term(divisor: int) -> str:
    """The term of the documents of one of :data:`SHARES`."""
    return term("share", str(divisor))


def shares_of(mlmodel_uuid: UUID) -> list[int]:
    """The shares that an MLModel falls into, by its random uuid."""
    return [divisor for divisor in SHARES if mlmodel_uuid.int % divisor == 0]


def grams(name: str) -> list[str]:
    """The different runs of up to three letters in a name, without case."""
    text = name.lower()
    ends = range(1, _GRAM + 1)
    return sorted({text[at : at + size] for size in ends for at in range(len(text) - size + 1)})


def grams_of_part(text: str) -> list[str]:
    """The runs that every name has which contains ``text``, as few as possible."""
    lower = text.lower()
    if len(lower) <= _GRAM:
        return [lower]
    return sorted({lower[at : at + _GRAM] for at in range(len(lower) - _GRAM + 1)})


def spellings(name: str) -> str:
    """Variants of a name: ``ResNet-50`` is also res, net, 50, resnet, net50, resnet50."""
    pieces = _PIECE.findall(name)
    pairs = (first + second for first, second in itertools.pairwise(pieces))
    return " ".join(_unlike(name, [*pieces, *pairs, "".join(pieces)]))


def _unlike(name: str, candidates: Iterable[str]) -> list[str]:
    own_words = set(words(name))
    return [word for word in dict.fromkeys(map(str.lower, candidates)) if word not in own_words]
