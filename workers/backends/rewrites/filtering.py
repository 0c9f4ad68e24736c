"""Winograd's minimal filtering for 3x3 convolutions (Lavin and Gray 2016, arXiv:1509.09308), and
which convolutions it makes faster. Without onnx, because search spaces are described with it.

F(m, 3) computes tiles of m x m outputs from tiles of (m + 2) x (m + 2) inputs::

    outputs = Aᵀ [(G weights Gᵀ) * (Bᵀ inputs B)] A

Of all tiles and channels, the products of one component are a matrix product. Together they take
(m + 2)² products per tile and pair of channels, where the convolution takes 9 m².
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]

#: Reading a transformed weight, in multiply-accumulates. With few tiles it takes longer than what
#: is computed with it.
_READ = 12
#: Estimated time in relation to the convolution's below which one is rewritten.
_WORTHWHILE = 0.9


@dataclass(frozen=True, eq=False)
class FilteringAlgorithm:
    """F(m, 3) in one dimension, with a = m + 2.

    Attributes:
        tile: m.
        inputs: Bᵀ, ``float64[a, a]``.
        weights: G, ``float64[a, 3]``.
        outputs: Aᵀ, ``float64[m, a]``.
        moved: Moving and transforming one component of a tile of one channel, in
            multiply-accumulates of a matrix product.
    """

    tile: int
    inputs: _Doubles
    weights: _Doubles
    outputs: _Doubles
    moved: int

    @property
    def components(self) -> int:
        """Components of a transformed tile."""
        return (self.tile + 2) ** 2


F2: Final = FilteringAlgorithm(
    2,
    np.array([[1, 0, -1, 0], [0, 1, 1, 0], [0, -1, 1, 0], [0, 1, 0, -1]], np.float64),
    np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.float64) / 2,
    np.array([[1, 1, 1, 0], [0, 1, -1, -1]], np.float64),
    moved=50,
)
F4: Final = FilteringAlgorithm(
    4,
    np.array(
        [
            [4, 0, -5, 0, 1, 0],
            [0, -4, -4, 1, 1, 0],
            [0, 4, -4, -1, 1, 0],
            [0, -2, -1, 2, 1, 0],
            [0, 2, -1, -2, 1, 0],
            [0, 4, 0, -5, 0, 1],
        ],
        np.float64,
    ),
    np.array([[6, 0, 0], [-4, -4, -4], [-4, 4, -4], [1, 2, 4], [1, -2, 4], [0, 0, 24]], np.float64)
    / 24,
    np.array(
        [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]],
        np.float64,
    ),
    moved=100,
)


@dataclass(frozen=True)
class DenseConvolution:
    """A convolution with 3x3 weights, stride 1 and one group: its input and output channels, and
    rows and columns of its result."""

    inputs: int
    outputs: int
    rows: int
    columns: int

    def tiles(self, algorithm: FilteringAlgorithm) -> tuple[int, int]:
        """Rows and columns of tiles; the last ones may be partly outside."""
        return -(-self.rows // algorithm.tile), -(-self.columns // algorithm.tile)

    def cost(self, algorithm: FilteringAlgorithm) -> float:
        """Estimated time in relation to the convolution's, for one image on one thread. Constants
        are fitted to ONNX Runtime 1.31 on AVX-512 (ADR 80)."""
        rows, columns = self.tiles(algorithm)
        moved = algorithm.moved * (1 / self.inputs + 1 / self.outputs)
        per_pair = algorithm.components * (rows * columns * (1 + moved) + _READ)
        return per_pair / (9 * self.rows * self.columns)

    def algorithm(self) -> FilteringAlgorithm | None:
        """The fastest algorithm; ``None`` if none is worthwhile."""
        if min(self.inputs, self.outputs, self.rows, self.columns) < 1:
            return None
        best = min((F2, F4), key=self.cost)
        return best if self.cost(best) < _WORTHWHILE else None
