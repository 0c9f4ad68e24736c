"""An input that few architectures take, and what draws its values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Array]


@dataclass(frozen=True, slots=True)
class NamedInput:
    """An input of one architecture.

    Attributes:
        shape: Sizes, or names of dynamic dimensions: those of texts, ``samples``, ``regions``.
        draw: Makes an array of a shape.
    """

    shape: tuple[int | str, ...]
    draw: Draw


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers of a normal distribution."""
    return rng.standard_normal(shape, np.float32)


def shares(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Numbers between 0 and 1, in order along the last axis: boxes, or points."""
    return np.sort(rng.random(shape, np.float32))


def ones(dtype: Any) -> Draw:
    """Ones, as masks have."""
    return lambda _, shape: np.ones(shape, dtype)


def below(limit: int) -> Draw:
    """Whole numbers below ``limit``."""
    return lambda rng, shape: rng.integers(0, max(1, limit), shape)
