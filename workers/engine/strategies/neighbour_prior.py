"""What a few other networks let expect: too few to learn from, enough to go by.

The mean of what they found of similar candidates, weighed by likeness of candidate and network
(Nadaraya 1964; Watson 1964), and drawn towards "as fast as the baseline" where nobody tried
anything similar.
"""

from collections.abc import Sequence

import numpy as np

from workers.engine.strategies.features import Features, Floats, cosines
from workers.engine.strategies.peers import Peer

#: Width of the kernel over the cosine of options, and the weight of knowing nothing.
_LENGTH, _DOUBT = 0.08, 0.3


class NeighbourPrior:
    """Expected logarithms of ratios for the scene's network.

    Args:
        peers: One at least.

    Attributes:
        error: Standard error to reckon with: networks differ about that much.
    """

    error = 0.35

    def __init__(self, peers: Sequence[Peer], features: Features) -> None:
        found = [(each, peer.weight) for peer in peers for each in peer.found]
        self._known = features.matrix([each.candidate for each, _ in found])
        self._values = np.array([each.value for each, _ in found])
        self._weights = np.array([weight for _, weight in found])

    def predict(self, candidates: Floats) -> Floats:
        """Expected logarithm of each candidate's ratio, from its features."""
        near = np.exp((cosines(candidates, self._known) - 1) / _LENGTH) * self._weights
        return np.asarray((near @ self._values) / (near.sum(axis=1) + _DOUBT), np.float64)
