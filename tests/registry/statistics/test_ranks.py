"""Rank correlation and recall, compared with scipy and with a plain count."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from registry.statistics.ranks import spearman, top_k_recall

VALUES = st.lists(
    st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=3, max_size=40
).filter(lambda pairs: all(len(set(side)) > 1 for side in zip(*pairs, strict=True)))


@given(VALUES)
def test_the_correlation_is_that_of_scipy(pairs: list[tuple[int, int]]) -> None:
    one, other = (np.array(side, dtype=float) for side in zip(*pairs, strict=True))
    assert spearman(one, other) == pytest.approx(spearmanr(one, other).statistic)


def test_it_is_not_defined_for_few_or_constant_values() -> None:
    assert spearman(np.array([1.0, 2.0]), np.array([1.0, 2.0])) is None
    assert spearman(np.ones(5), np.arange(5.0)) is None


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30, unique=True))
def test_recall_counts_the_best_among_the_chosen(pairs: list[tuple[float, float]]) -> None:
    predicted, measured = (np.array(side) for side in zip(*pairs, strict=True))
    order = range(len(pairs))
    chosen = sorted(order, key=lambda at: predicted[at])[:1]
    best = sorted(order, key=lambda at: measured[at])[:1]
    assert top_k_recall(predicted, measured, 1) == float(chosen == best)


def test_perfect_and_reversed_predictions() -> None:
    measured = np.arange(20.0)
    assert top_k_recall(measured, measured, 5) == 1
    assert top_k_recall(-measured, measured, 5) == 0
    assert top_k_recall(measured, measured, 20) is None
    assert top_k_recall(measured, measured, 0) is None
