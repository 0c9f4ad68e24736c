"""Changes to a list of passes, alone and in combination."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from workers.engine.passes.menu import Menu, Passes

#: Number of factors to the generators of those beyond the basic ones, each a product of basic ones:
#: fractions in which no main effect is confounded with another one or with an interaction of two
#: (resolution IV: Box, Hunter and Hunter, "Statistics for Experimenters", 2005, table 6.22).
_GENERATORS: dict[int, tuple[str, ...]] = {
    5: ("abcd",),
    6: ("abc", "bcd"),
    7: ("abc", "bcd", "acd"),
    8: ("bcd", "acd", "abc", "abd"),
}


@dataclass(frozen=True, slots=True)
class Factor:
    """One change to a list of passes; ``about`` names the passes that it changes."""

    kind: Literal["drop", "insert", "swap"]
    about: Passes
    apply: Callable[[Passes], Passes] = field(compare=False)

    @property
    def name(self) -> str:
        """Kind and passes as text."""
        return f"{self.kind} {' and '.join(self.about)}"


def drop(menu: Menu, name: str) -> Factor:
    """Leave a pass out."""
    return Factor("drop", (name,), lambda passes: menu.without(passes, [name]))


def insert(menu: Menu, name: str) -> Factor:
    """Insert an extra pass at its position in the full list."""
    return Factor("insert", (name,), lambda passes: menu.with_extra(passes, name))


def swap(first: str, second: str) -> Factor:
    """Exchange two passes."""
    partner = {first: second, second: first}
    return Factor("swap", (first, second), lambda passes: tuple(partner.get(p, p) for p in passes))


def combinations(factors: Sequence[Factor], most: int) -> list[tuple[Factor, ...]]:
    """Sets of changes to apply together: all sets, or if there are more than ``most``, a balanced
    fraction of them, plus all changes together and each one alone."""
    count = len(factors)
    rows: set[tuple[bool, ...]] = set(product((False, True), repeat=count))
    if len(rows) > most and count in _GENERATORS:
        rows = fraction(count) | {tuple(n == k for n in range(count)) for k in range(count)}
        rows |= {(True,) * count}
    chosen = [tuple(f for f, on in zip(factors, row, strict=True) if on) for row in sorted(rows)]
    return chosen[:most] if count not in _GENERATORS else chosen


def fraction(count: int) -> set[tuple[bool, ...]]:
    """The 16 balanced combinations of 5 to 8 changes."""
    generators = _GENERATORS[count]
    basic = "abcdefgh"[: count - len(generators)]
    rows = set()
    for levels in product((False, True), repeat=len(basic)):
        row = dict(zip(basic, levels, strict=True))
        # A product of signs is negative if an odd number of them is.
        extra = [sum(not row[letter] for letter in generator) % 2 == 0 for generator in generators]
        rows.add((*levels, *extra))
    return rows
