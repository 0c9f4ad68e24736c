"""Candidates as feature vectors."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from workers.engine.space import IntRange, Value, plain
from workers.engine.strategies.joint import JointSpace
from workers.engine.types import Candidate

Floats = npt.NDArray[np.float64]


class Features:
    """A column for each value of the backend and of each option: 1 if a candidate has it, else 0.

    Integer ranges are coded cumulatively: 1 in the columns of all values up to the candidate's, so
    that adjacent values differ in one column and distant ones in many.
    """

    def __init__(self, space: JointSpace) -> None:
        self._space = space
        self._columns: dict[tuple[str, str], int] = {}
        self._rows: dict[str, Floats] = {}
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
        """:meth:`matrix` of candidates by ``sha256``, with a cache."""
        missing = [sha256 for sha256 in candidates if sha256 not in self._rows]
        rows = self.matrix([candidates[sha256] for sha256 in missing])
        self._rows.update(zip(missing, rows, strict=True))
        return np.array([self._rows[sha256] for sha256 in candidates])

    def matrix(self, candidates: Sequence[Candidate]) -> Floats:
        """Features of members of the space, ``[candidates, columns]``."""
        result = np.zeros((len(candidates), len(self._columns)))
        for row, candidate in enumerate(candidates):
            for name, value in self._space.options(candidate).items():
                steps = self._ranges.get(name, ())
                reached: tuple[Value, ...] = tuple(v for v in steps if v <= int(value))
                for each in reached or (value,):
                    result[row, self._columns[name, repr(each)]] = 1.0
        return result


def cosines(one: Floats, other: Floats) -> Floats:
    """Cosine similarity of rows, 0 to 1: ``[rows of one, rows of other]``."""
    lengths = [np.linalg.norm(side, axis=1, keepdims=True) for side in (one, other)]
    return np.asarray((one / lengths[0]) @ (other / lengths[1]).T, np.float64)
