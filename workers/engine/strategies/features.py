"""Candidates as numbers, for models that want numbers."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workers.engine.space import IntRange, Value, plain
from workers.engine.strategies.joint import JointSpace
from workers.engine.types import Candidate

Floats = npt.NDArray[np.float64]


class Features:
    """A column for the backend and for each value of each option, 1 where a candidate has it.

    Ranges of integers have a column for each step between two values instead, 1 from there on:
    neighbours then differ in one column, and far values in many.

    Attributes:
        columns: Names of the columns.
    """

    def __init__(self, space: JointSpace) -> None:
        self._space = space
        self._columns: dict[tuple[str, str], int] = {}
        self._known: dict[str, Floats] = {}
        self._ranges: dict[str, tuple[int, ...]] = {}
        for name, parameter in space.space.parameters.items():
            values = plain(parameter).values
            if isinstance(plain(parameter), IntRange):
                self._ranges[name] = tuple(int(value) for value in values)
            for value in values:
                self._columns[name, repr(value)] = len(self._columns)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f"{name}={value}" for name, value in self._columns)

    def of(self, candidates: Mapping[str, Candidate]) -> Floats:
        """:meth:`matrix` of candidates by ``sha256``, each computed once."""
        missing = [sha256 for sha256 in candidates if sha256 not in self._known]
        rows = self.matrix([candidates[sha256] for sha256 in missing])
        self._known.update(zip(missing, rows, strict=True))
        return np.array([self._known[sha256] for sha256 in candidates])

    def matrix(self, candidates: Sequence[Candidate]) -> Floats:
        """Zeros and ones, ``[candidates, columns]``. Candidates are members of the space."""
        result = np.zeros((len(candidates), len(self._columns)))
        for row, candidate in enumerate(candidates):
            for name, value in self._space.options(candidate).items():
                steps = self._ranges.get(name, ())
                reached: tuple[Value, ...] = tuple(v for v in steps if v <= int(value))
                for each in reached or (value,):
                    result[row, self._columns[name, repr(each)]] = 1.0
        return result


def cosines(one: Floats, other: Floats) -> Floats:
    """How alike rows are, 0 to 1: ``[rows of one, rows of other]``."""
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (one, other)]
    return np.asarray((one / lengths[0]) @ (other / lengths[1]).T, np.float64)
