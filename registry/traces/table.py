"""The trials of a workload in columns, those of different sketches side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from registry.traces.columns import (
    INDEPENDENT,
    ColumnBuilder,
    DecisionColumn,
    DecisionColumnKind,
    DecisionValue,
    Numbers,
)
from registry.traces.derived import VectorRegisters, derived
from registry.traces.reader import DecisionKind, DecisionPoint
from registry.traces.sketch import Sketch

#: Order of columns: what was decided, then what repeats or follows from it.
_KINDS = list(DecisionColumnKind)
_ABSENT = "not in the sketch"


@dataclass(frozen=True, slots=True)
class DecisionTable:
    """Trials in columns.

    Attributes:
        columns: Those with more than one value, or all if that was wanted.
        unreadable: Mask of the trials whose decisions do not fit their sketch; they have no value
            in any column.
    """

    columns: tuple[DecisionColumn, ...]
    unreadable: NDArray[np.bool_]

    def features(self) -> Numbers:
        """All independent decisions of each trial as numbers, shape ``(trials, n)``; the mean of
        the others where a trial's sketch does not decide something, 0 if none does."""
        parts = [each.numbers for each in self.columns if each.kind in INDEPENDENT]
        if not parts:
            return np.zeros((len(self.unreadable), 0))
        numbers = np.concatenate(parts, axis=1)
        missing = np.isnan(numbers)
        count = (~missing).sum(axis=0)
        means = np.where(missing, 0.0, numbers).sum(axis=0) / np.maximum(count, 1)
        return np.where(missing, means, numbers)


def table_of(
    sketches: Mapping[int, Sketch],
    trials: Sequence[tuple[int, Sequence[Any]]],
    machine: VectorRegisters | None = None,
    *,
    constant: bool = False,
) -> DecisionTable:
    """Columns of trials, each the id of its sketch and its decisions.

    ``constant`` includes columns in which all trials agree.
    """
    builder = _TableBuilder(len(trials), machine or VectorRegisters())
    ids = np.array([sketch for sketch, _ in trials], dtype=np.int64)
    for number in sorted(set(ids.tolist())):
        rows = np.flatnonzero(ids == number)
        builder.add(number, sketches[number], rows, [trials[row][1] for row in rows.tolist()])
    return builder.table(constant=constant)


class _TableBuilder:
    def __init__(self, count: int, machine: VectorRegisters) -> None:
        self._count, self._machine = count, machine
        self._builders: dict[str, ColumnBuilder] = {}
        self._unreadable = np.zeros(count, dtype=bool)

    def add(
        self, number: int, sketch: Sketch, rows: NDArray[np.intp], decisions: list[Sequence[Any]]
    ) -> None:
        readable = np.array([sketch.fits(each) for each in decisions])
        self._unreadable[rows[~readable]] = True
        rows = rows[readable]
        if not len(rows):
            return
        fitting = [each for each, fits in zip(decisions, readable, strict=True) if fits]
        decided: dict[int, NDArray[np.int64]] = {}
        for position, point in enumerate(sketch.points):
            values = np.array([each[position][1] for each in fitting], dtype=np.int64)
            place = number, point.instruction
            decided[point.instruction] = values
            if point.kind == DecisionKind.TILE:
                self._tile(point, rows, values, place)
            else:
                self._single(sketch, point, rows, values, place)
        for key, (title, text) in sketch.fixed.items():
            column = self._column(key, title, DecisionColumnKind.SKETCH)
            column.add(rows, [_fixed(text)], np.zeros(len(rows), dtype=np.int64))
        for each in derived(sketch, decided, self._machine):
            unique, inverse = np.unique(each.numbers, return_inverse=True)
            column = self._column(f"derived:{each.key}", each.title, DecisionColumnKind.DERIVED)
            column.add(rows, [_number(int(one), each.text_of(int(one))) for one in unique], inverse)

    def table(self, *, constant: bool) -> DecisionTable:
        for builder in self._builders.values():
            if builder.kind == DecisionColumnKind.SKETCH:
                builder.fill(_fixed(_ABSENT))
                builder.clear(self._unreadable)
        columns = [builder.column() for builder in self._builders.values()]
        shown = [each for each in columns if constant or len(each.values) > 1]
        shown.sort(key=lambda each: _KINDS.index(each.kind))
        return DecisionTable(tuple(shown), self._unreadable)

    def _tile(
        self,
        point: DecisionPoint,
        rows: NDArray[np.intp],
        values: NDArray[np.int64],
        place: tuple[int, int],
    ) -> None:
        tiles, inverse = np.unique(values, axis=0, return_inverse=True)
        named = [tuple(map(int, tile)) for tile in tiles]
        whole = [
            DecisionValue(tile, "[" + ", ".join(map(str, tile)) + "]", tuple(map(log2, tile)))
            for tile in named
        ]
        self._column(point.key, point.title, DecisionColumnKind.TILE).add(
            rows, whole, inverse, place
        )
        # The factors of a loop in two parts determine each other.
        if point.parts < 3 or point.loop is None:
            return
        for kind, at, word in (
            (DecisionColumnKind.INNER, -1, "inner width of"),
            (DecisionColumnKind.OUTER, 0, "outer parts of"),
        ):
            key = point.key.replace("tile:", f"{kind.value}:", 1)
            column = self._column(key, f"{word} {point.title.removeprefix('tile of ')}", kind)
            column.add(rows, [_number(tile[at]) for tile in named], inverse, place)

    def _single(
        self,
        sketch: Sketch,
        point: DecisionPoint,
        rows: NDArray[np.intp],
        values: NDArray[np.int64],
        place: tuple[int, int],
    ) -> None:
        unique, inverse = np.unique(values, return_inverse=True)
        kind = DecisionColumnKind(point.kind.value)
        named = [
            DecisionValue((float(value),), sketch.text_of(point, int(value)), (float(value),))
            for value in unique
        ]
        self._column(point.key, point.title, kind).add(rows, named, inverse, place)

    def _column(self, key: str, title: str, kind: DecisionColumnKind) -> ColumnBuilder:
        return self._builders.setdefault(key, ColumnBuilder(key, title, kind, self._count))


def _fixed(text: str) -> DecisionValue:
    return DecisionValue((), text, ())


def _number(number: int, text: str = "") -> DecisionValue:
    return DecisionValue((float(number),), text or str(number), (float(number),))
