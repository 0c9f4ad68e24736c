"""Weights are rounded for the outputs of their layer, not each to the nearest value."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.backends.mixed.rounding import (
    FLOAT_GRIDS,
    Floats,
    Grid,
    error_shares,
    integer_grid,
    round_weights,
    second_moments,
)

OUTPUTS, SAMPLES = 6, 400


def correlated(rng: np.random.Generator, groups: int, samples: int, features: int) -> Floats:
    """Positive inputs that depend on few values, as channels behind a ReLU do."""
    mixing = np.random.default_rng(0).standard_normal((groups, 5, features), np.float32)
    hidden = rng.standard_normal((groups, samples, 5), np.float32)
    noise = rng.standard_normal((groups, samples, features), np.float32)
    return np.maximum(hidden @ mixing + 0.2 * noise, 0)


def grids(weights: Floats) -> dict[str, Grid]:
    return FLOAT_GRIDS | {"int8": integer_grid(np.abs(weights).max(axis=-1) / 127)}


def nearest(weights: Floats, grid: Grid) -> Floats:
    return np.moveaxis(grid(np.moveaxis(weights, -1, 0)), 0, -1)


def output_error(inputs: Floats, rounded: Floats, weights: Floats) -> float:
    return float(np.linalg.norm(inputs @ (rounded - weights).swapaxes(-1, -2)))


@pytest.mark.parametrize("precision", ["bfloat16", "float16", "int8"])
@pytest.mark.parametrize(("groups", "features"), [(1, 64), (3, 27), (1, 300)])
def test_outputs_of_other_inputs_change_less_than_by_the_nearest_values(
    precision: str, groups: int, features: int
) -> None:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((groups, OUTPUTS, features), np.float32)
    grid = grids(weights)[precision]
    moments = second_moments(correlated(rng, groups, SAMPLES, features))
    rounded = round_weights(weights, error_shares(moments), grid)
    assert rounded.shape == weights.shape
    assert np.array_equal(nearest(rounded, grid), rounded)
    others = correlated(rng, groups, SAMPLES, features)
    least = output_error(others, nearest(weights, grid), weights)
    assert output_error(others, rounded, weights) < 0.75 * least


@given(st.integers(1, 300), st.integers(0, 1000))
def test_independent_inputs_have_the_nearest_values(features: int, seed: int) -> None:
    weights = np.random.default_rng(seed).standard_normal((1, OUTPUTS, features), np.float32)
    grid = grids(weights)["int8"]
    shares = error_shares(second_moments(np.eye(features, dtype=np.float32)[None]))
    assert np.array_equal(round_weights(weights, shares, grid), nearest(weights, grid))


def test_moments_of_runs_add_up() -> None:
    inputs = correlated(np.random.default_rng(2), 2, SAMPLES, 40)
    parts = np.sum([second_moments(part) for part in np.array_split(inputs, 5, axis=1)], axis=0)
    np.testing.assert_allclose(parts, second_moments(inputs), rtol=1e-4)


def test_inputs_that_are_always_zero_do_no_harm() -> None:
    weights = np.random.default_rng(3).standard_normal((1, OUTPUTS, 20), np.float32)
    grid = grids(weights)["int8"]
    shares = error_shares(second_moments(np.zeros((1, SAMPLES, 20), np.float32)))
    assert np.array_equal(round_weights(weights, shares, grid), nearest(weights, grid))
