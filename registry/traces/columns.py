"""Columns of values, coded by number."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Numbers = NDArray[np.float64]


class DecisionColumnKind(StrEnum):
    """What the values of a column are.

    ``tile``: all factors of a loop; ``inner``, ``outer``: the last and the first of them;
    ``choice``: one of a list; ``location``: a place in a loop nest; ``sketch``: what the sketch
    decides; ``derived``: follows from several decisions.
    """

    TILE = "tile"
    INNER = "inner"
    OUTER = "outer"
    CHOICE = "choice"
    LOCATION = "location"
    SKETCH = "sketch"
    DERIVED = "derived"


#: Kinds that together say all that was decided; the others repeat parts of it.
INDEPENDENT = frozenset(
    {
        DecisionColumnKind.TILE,
        DecisionColumnKind.CHOICE,
        DecisionColumnKind.LOCATION,
        DecisionColumnKind.SKETCH,
    }
)


@dataclass(frozen=True, slots=True)
class DecisionValue:
    """A value of a column: its place in the order of values, its words, its numbers.

    ``numbers`` are logarithms of factors, an index, or a quantity; all values of a column have as
    many.
    """

    order: tuple[float, ...]
    text: str
    numbers: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class DecisionColumn:
    """A value for each trial.

    Attributes:
        key: Equal for the same column of all sketches and of similar workloads.
        title: What the values are: ``inner width of ff``.
        codes: Of each trial the position of its value in ``values``; -1 where its sketch does not
            decide this, int32.
        values: In their order.
        instructions: Positions of the instructions, by sketch id, that decide it.
    """

    key: str
    title: str
    kind: DecisionColumnKind
    codes: Codes
    values: tuple[DecisionValue, ...]
    instructions: dict[int, int]

    @property
    def labels(self) -> list[str]:
        """The values in words."""
        return [value.text for value in self.values]

    @property
    def numbers(self) -> Numbers:
        """Numbers of each trial, shape ``(trials, n)``; NaN where it has no value."""
        width = len(self.values[0].numbers) if self.values else 0
        table = np.full((len(self.values) + 1, width), np.nan)
        if width:
            table[:-1] = [value.numbers for value in self.values]
        return table[self.codes]


class ColumnBuilder:
    """Collects the values of a column from groups of trials."""

    def __init__(self, key: str, title: str, kind: DecisionColumnKind, trials: int) -> None:
        self.key, self.title, self.kind = key, title, kind
        self._codes = np.full(trials, -1, dtype=np.int32)
        self._values: dict[DecisionValue, int] = {}
        self._instructions: dict[int, int] = {}

    def add(
        self,
        trials: NDArray[np.intp],
        values: Sequence[DecisionValue],
        inverse: NDArray[np.integer],
        place: tuple[int, int] | None = None,
    ) -> None:
        """Set the values of trials: ``inverse`` holds positions in ``values``; ``place`` is the
        sketch and the instruction that decides them."""
        codes = [self._values.setdefault(value, len(self._values)) for value in values]
        self._codes[trials] = np.array(codes, dtype=np.int32)[inverse]
        if place is not None:
            self._instructions[place[0]] = place[1]

    def fill(self, value: DecisionValue) -> None:
        """Give ``value`` to all trials without one."""
        without = self._codes < 0
        if without.any():
            self._codes[without] = self._values.setdefault(value, len(self._values))

    def clear(self, trials: NDArray[np.bool_]) -> None:
        """Take the values of trials away."""
        self._codes[trials] = -1

    def column(self) -> DecisionColumn:
        """The column, its values in their order."""
        ordered = sorted(self._values, key=lambda value: (value.order, value.text))
        to = np.full(len(ordered) + 1, -1, dtype=np.int32)
        for position, value in enumerate(ordered):
            to[self._values[value]] = position
        codes: Codes = to[self._codes]
        return DecisionColumn(
            self.key, self.title, self.kind, codes, tuple(ordered), dict(self._instructions)
        )
