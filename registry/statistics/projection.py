"""Many columns of numbers as points in a plane, with figures that say how far to trust it."""

from dataclasses import dataclass
from importlib import import_module

import numpy as np
from numpy.typing import NDArray

from registry.statistics.ranks import spearman

Numbers = NDArray[np.float64]

#: Neighbours whose mean is compared with a point's own value.
NEIGHBOURS = 5


@dataclass(frozen=True, slots=True)
class Projection:
    """Points in a plane.

    Attributes:
        points: Coordinates, shape ``(n, 2)``.
        explained: Share of the variance along either axis.
    """

    points: Numbers
    explained: tuple[float, float]

    @property
    def explained_total(self) -> float:
        """Share of the variance that the plane shows."""
        return sum(self.explained)


def principal_components(features: Numbers) -> Projection | None:
    """The first two principal components (Pearson 1901; Hotelling 1933) of standardised columns.

    Constant columns are left out. Each axis points so that its largest weight is positive, which
    makes the picture the same on every machine. ``None`` for fewer than three rows or two columns
    that vary.
    """
    if len(features) < 3:
        return None
    scale = features.std(axis=0)
    varying = scale > 1e-12
    if varying.sum() < 2:
        return None
    standard = (features[:, varying] - features[:, varying].mean(axis=0)) / scale[varying]
    # Eigenvectors of the small covariance: rows are many, columns are tens.
    values, vectors = np.linalg.eigh(standard.T @ standard / len(standard))
    axes = vectors[:, ::-1][:, :2]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), [0, 1]])
    shares = np.clip(values[::-1][:2], 0.0, None) / values.sum()
    return Projection(standard @ axes, (float(shares[0]), float(shares[1])))


def neighbour_agreement(points: Numbers, values: Numbers, k: int = NEIGHBOURS) -> float | None:
    """Whether near points have similar values: Spearman's correlation of each value with the mean
    of its ``k`` nearest neighbours, its own point excluded.

    0 if the neighbourhoods of the plane say nothing about the values, 1 if everything. ``None`` for
    fewer than ``k + 2`` points, or if it is not defined.
    """
    if len(points) < k + 2:
        return None
    # Imported here, because the package takes a fifth of a hub process's start.
    spatial = import_module("scipy.spatial")
    _, nearest = spatial.cKDTree(points).query(points, k + 1)
    own = np.arange(len(points))[:, None]
    # Of several points at one place, the own one may be anywhere in the list, or missing.
    is_other = nearest != own
    is_other[is_other.all(axis=1), -1] = False
    return spearman(values, values[nearest[is_other].reshape(len(points), k)].mean(axis=1))
