"""Comparisons of numbers, such as ``latency:<5ms``.

::

    comparison = operator , number , [ unit ] ;        without white space
    operator   = "<" | "<=" | ">" | ">=" ;
    number     = digits , [ "." , digits ] | "." , digits ;
    unit       = one of the units of the number in registry/search/vocabulary.py, in any case ;

Numbers are compared exactly: a decimal number of a query is not rounded. The index stores each
number as an integer (:func:`encode`) that sorts as the number does, so that a comparison is a range
of integers (:func:`limits`).
"""

import math
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from registry.errors import Invalid
from registry.search.vocabulary import FILTERS, NUMBERS, OPERATORS, Encoding, listed

#: Largest stored integer.
LARGEST = 2**63 - 1
_DIGITS = 18
_COMPARISON = re.compile(
    rf"(?P<operator>[<>]=?)(?P<number>[0-9]{{1,{_DIGITS}}}(?:\.[0-9]{{0,{_DIGITS}}})?"
    rf"|\.[0-9]{{1,{_DIGITS}}})(?P<unit>[^\W\d_]*|%)"
)
_MICRO = str.maketrans({"\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u"})


@dataclass(frozen=True, slots=True, order=True)
class Bound:
    """A comparison with a number.

    Attributes:
        name: Of one of ``vocabulary.NUMBERS``.
        operator: One of ``vocabulary.OPERATORS``.
        number: In the unit of the number: nanoseconds, bytes, percent of the FAIR score...
    """

    name: str
    operator: str
    number: Fraction

    @property
    def is_speed(self) -> bool:
        """Whether it compares a number of builds."""
        return NUMBERS[self.name].is_speed


def parse(name: str, text: str) -> Bound:
    """Parse a comparison. Raises ``Invalid``: ``invalid_query``, with an example."""
    example = f"Write it like {FILTERS[name].in_query}"
    match = _COMPARISON.fullmatch("".join(text.split()))
    if match is None:
        raise Invalid(
            "invalid_query",
            f"{name} needs a comparison, not {text.strip()[:40]!r}.",
            f"{example}; operators are {', '.join(OPERATORS)}.",
        )
    units = NUMBERS[name].units
    unit = match["unit"].translate(_MICRO).lower()
    if unit not in units:
        problem = f"is no unit of {name}" if unit else f"does not say the unit of {name}"
        raise Invalid(
            "invalid_query",
            f"{(match['unit'] or match['number'])!r} {problem}.",
            f"{example}; units are {listed(one for one in units if one)}.",
        )
    number = Fraction(match["number"]) * units[unit]
    if name == "gain" and not number:
        raise Invalid("invalid_query", "A gain is larger than 0.", example)
    return Bound(name, match["operator"], number)


def encode(number: float) -> int:
    """The integer that the index stores for a number of 0 or more.

    An integer is itself. A float is its IEEE 754 representation, whose integers sort as the floats
    do.
    """
    if isinstance(number, int):
        return min(number, LARGEST)
    bits: int = struct.unpack(">q", struct.pack(">d", number))[0]
    return bits


def limits(bounds: Iterable[Bound]) -> tuple[int, int]:
    """Least and largest stored integer of the numbers within bounds of the same name.

    The least is above the largest if there is no such number.
    """
    low, high = 0, LARGEST
    for bound in bounds:
        encoding = NUMBERS[bound.name].encoding
        operator, number = bound.operator, bound.number
        if encoding == Encoding.RECIPROCAL:
            operator, number = _flipped(operator), 1 / number
        least = _integer_from if encoding == Encoding.INTEGER else _float_from
        if operator.startswith("<"):
            # The largest is the one before the least that is not within the bound.
            high = min(high, least(number, is_open=operator == "<=") - 1)
        else:
            low = max(low, least(number, is_open=operator == ">"))
    return low, high


def _flipped(operator: str) -> str:
    return operator.translate(str.maketrans("<>", "><"))


def _integer_from(number: Fraction, *, is_open: bool) -> int:
    """The least integer that is at least ``number``, above it if ``is_open``."""
    return min(math.floor(number) + 1 if is_open else math.ceil(number), LARGEST + 1)


def _float_from(number: Fraction, *, is_open: bool) -> int:
    """The code of the least float that is at least ``number``, above it if ``is_open``."""
    nearest = float(number)
    exact = Fraction(nearest)
    if exact < number or (is_open and exact == number):
        nearest = math.nextafter(nearest, math.inf)
    return encode(nearest)
