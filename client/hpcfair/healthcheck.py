"""Health checks of devices: a small network whose outputs the hub computes as well.

A device runs the network with each of its runtimes before it gets jobs, and after failures. Weights
and inputs are -1, 0 and 1, so that all sums are at most 256: exact in every floating-point type
down to bfloat16, in any order of additions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["HealthCheck", "answer", "health_check"]

_INPUTS, _HIDDEN, _OUTPUTS = 16, 16, 8

Matrix = tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """The network ``relu(x @ w1) @ w2`` and its input.

    Attributes:
        x: Input, 1 x 16.
        w1, w2: Weights, 16 x 16 and 16 x 8.
    """

    seed: int
    x: Matrix
    w1: Matrix
    w2: Matrix


def health_check(seed: int) -> HealthCheck:
    """The check for a seed. It is the same on every machine."""
    numbers = _numbers(seed)
    return HealthCheck(
        seed,
        x=_matrix(numbers, 1, _INPUTS),
        w1=_matrix(numbers, _INPUTS, _HIDDEN),
        w2=_matrix(numbers, _HIDDEN, _OUTPUTS),
    )


def answer(check: HealthCheck) -> list[int]:
    """The correct outputs of the network: 8 numbers."""
    hidden = [max(0, value) for value in _product(check.x[0], check.w1)]
    return _product(hidden, check.w2)


def _product(vector: "tuple[int, ...] | list[int]", matrix: Matrix) -> list[int]:
    columns = zip(*matrix, strict=True)
    return [sum(a * b for a, b in zip(vector, column, strict=True)) for column in columns]


def _matrix(numbers: Iterator[int], rows: int, columns: int) -> Matrix:
    return tuple(tuple(next(numbers) for _ in range(columns)) for _ in range(rows))


def _numbers(seed: int) -> Iterator[int]:
    """Pseudo-random -1, 0 and 1, by the linear congruential generator of Numerical Recipes."""
    state = seed % 2**32
    while True:
        state = (1664525 * state + 1013904223) % 2**32
        yield (state >> 16) % 3 - 1
