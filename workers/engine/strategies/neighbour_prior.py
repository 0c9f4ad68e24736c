"""A prior from few other networks, too few to learn a ranking from.

Kernel regression (Nadaraya 1964; Watson 1964) over the results of similar candidates, weighted by
the similarity of candidates and networks. Without similar candidates it tends to ratio 1.
"""

from collections.abc import Sequence

import numpy as np

from workers.engine.strategies.features import Features, Floats, cosines
from workers.engine.strategies.peers import Peer

#: Width of the kernel over cosines, and weight of the ratio 1.
_LENGTH, _PRIOR_WEIGHT = 0.08, 0.3


class NeighbourPrior:
    """Expected logarithms of ratios for the problem's network, from at least one of ``peers``.
    ``error`` is the assumed standard error, about the variation between networks."""

    error = 0.35

    def __init__(self, peers: Sequence[Peer], features: Features) -> None:
        results = [(each, peer.weight) for peer in peers for each in peer.results]
        self._measured_features = features.matrix([each.candidate for each, _ in results])
        self._values = np.array([each.value for each, _ in results])
        self._weights = np.array([weight for _, weight in results])

    def predict(self, candidates: Floats) -> Floats:
        """Expected logarithm of each ratio, from features ``[candidates, columns]``."""
        near = np.exp((cosines(candidates, self._measured_features) - 1) / _LENGTH) * self._weights
        return np.asarray((near @ self._values) / (near.sum(axis=1) + _PRIOR_WEIGHT), np.float64)
