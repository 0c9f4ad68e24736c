"""Alignments, compared with all possible ones."""

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from registry.statistics.alignment import _GAP, _pair, align

Pairs = list[tuple[int | None, int | None]]
WORD = st.text("ab", max_size=5)


def score_of(pairs: Pairs, one: str, other: str) -> int:
    return sum(
        _GAP if row is None or column is None else _pair(one[row], other[column])
        for row, column in pairs
    )


def every_alignment(rows: int, columns: int) -> Iterator[Pairs]:
    if not rows and not columns:
        yield []
    if rows and columns:
        yield from (
            [*rest, (rows - 1, columns - 1)] for rest in every_alignment(rows - 1, columns - 1)
        )
    if rows:
        yield from ([*rest, (rows - 1, None)] for rest in every_alignment(rows - 1, columns))
    if columns:
        yield from ([*rest, (None, columns - 1)] for rest in every_alignment(rows, columns - 1))


@given(WORD, WORD)
def test_no_alignment_scores_better(one: str, other: str) -> None:
    best = max(score_of(pairs, one, other) for pairs in every_alignment(len(one), len(other)))
    assert score_of(align(one, other), one, other) == best


@given(st.text("abcd", max_size=30), st.text("abcd", max_size=30))
def test_every_position_occurs_once_in_order(one: str, other: str) -> None:
    pairs = align(one, other)
    assert [row for row, _ in pairs if row is not None] == list(range(len(one)))
    assert [column for _, column in pairs if column is not None] == list(range(len(other)))
    for row, column in pairs:
        if row is not None and column is not None:
            assert one[row] == other[column]


def test_equal_sequences_are_paired_and_insertions_are_gaps() -> None:
    assert align("abc", "abc") == [(0, 0), (1, 1), (2, 2)]
    assert align("abc", "abxc") == [(0, 0), (1, 1), (None, 2), (2, 3)]
