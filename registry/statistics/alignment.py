"""Alignment of sequences, such as the instructions of two schedules."""

from collections.abc import Hashable, Sequence

import numpy as np

#: Score of equal and of different items side by side, and of an item beside a gap.
_EQUAL, _DIFFERENT, _GAP = 1, -2, -1


def align(
    one: Sequence[Hashable], other: Sequence[Hashable]
) -> list[tuple[int | None, int | None]]:
    """Global alignment by Needleman and Wunsch (1970), in time and memory ``len(one) *
    len(other)``.

    Returns:
        Pairs of positions, ``None`` beside a gap; every position occurs once, in order. Different
        items are never paired, since two gaps score the same.
    """
    rows, columns = len(one), len(other)
    score = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    score[:, 0] = _GAP * np.arange(rows + 1)
    score[0, :] = _GAP * np.arange(columns + 1)
    for row in range(1, rows + 1):
        for column in range(1, columns + 1):
            score[row, column] = max(
                score[row - 1, column - 1] + _pair(one[row - 1], other[column - 1]),
                score[row - 1, column] + _GAP,
                score[row, column - 1] + _GAP,
            )
    pairs: list[tuple[int | None, int | None]] = []
    row, column = rows, columns
    while row or column:
        here = score[row, column]
        if row and here == score[row - 1, column] + _GAP:
            row -= 1
            pairs.append((row, None))
        elif column and here == score[row, column - 1] + _GAP:
            column -= 1
            pairs.append((None, column))
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs[::-1]


def _pair(one: Hashable, other: Hashable) -> int:
    return _EQUAL if one == other else _DIFFERENT
