"""The projection: what it keeps, and how far it says to trust it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.statistics.projection import neighbour_agreement, principal_components


def test_the_plane_is_that_of_the_singular_vectors() -> None:
    rng = np.random.default_rng(0)
    data = rng.standard_normal((200, 6)) @ rng.standard_normal((6, 6))
    standard = (data - data.mean(axis=0)) / data.std(axis=0)
    _, values, vectors = np.linalg.svd(standard, full_matrices=False)
    plane = principal_components(data)
    assert plane is not None
    shares = values**2 / (values**2).sum()
    assert plane.explained == pytest.approx(tuple(shares[:2]))
    expected = np.abs(standard @ vectors[:2].T)
    assert np.abs(plane.points) == pytest.approx(expected, abs=1e-6)


@given(st.integers(3, 30), st.integers(0, 2**32 - 1))
def test_shares_are_shares_and_points_are_finite(rows: int, seed: int) -> None:
    data = np.random.default_rng(seed).integers(0, 3, (rows, 4)).astype(float)
    plane = principal_components(data)
    if plane is not None:
        assert 0 <= plane.explained_total <= 1 + 1e-9
        assert plane.explained[0] >= plane.explained[1] - 1e-9
        assert np.isfinite(plane.points).all()


def test_too_little_data_has_no_plane() -> None:
    assert principal_components(np.zeros((10, 4))) is None
    assert principal_components(np.eye(2)) is None
    constant_but_one = np.zeros((5, 3))
    constant_but_one[:, 1] = range(5)
    assert principal_components(constant_but_one) is None


def test_two_columns_are_shown_whole() -> None:
    data = np.random.default_rng(3).random((50, 2))
    plane = principal_components(data)
    assert plane is not None
    assert plane.explained_total == pytest.approx(1)


def test_agreement_tells_a_gradient_from_noise() -> None:
    rng = np.random.default_rng(2)
    points = rng.random((300, 2))
    assert (neighbour_agreement(points, points[:, 0]) or 0) > 0.95
    assert abs(neighbour_agreement(points, rng.random(300)) or 0) < 0.2


def test_a_points_own_value_does_not_count() -> None:
    # All at one place: the neighbours are arbitrary, but never the point itself.
    points = np.zeros((40, 2))
    values = np.random.default_rng(4).random(40)
    agreement = neighbour_agreement(points, values)
    assert agreement is None or agreement < 0.5
    assert neighbour_agreement(np.zeros((6, 2)), np.arange(6.0)) is None
