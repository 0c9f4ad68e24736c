"""A few configurations that together serve similar networks well."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.strategies.peers import Peer
from workers.engine.types import Candidate

#: Most configurations of a portfolio.
MOST = 8
#: Fewest networks of the architecture class; with fewer, all classes count.
ENOUGH = 3
#: Smallest gain of a configuration, as a share of the portfolio's gain so far.
_SMALLEST_GAIN = 0.02
#: Weight of ratio 1 in the imputed result of a configuration that was not tried on a network.
_PRIOR_WEIGHT = 0.5

Floats = npt.NDArray[np.float64]


def portfolio(
    peers: Sequence[Peer], architecture_class: str, most: int = MOST
) -> list[tuple[Candidate, float | None]]:
    """Configurations with their expected ratios, best first.

    Each has the largest gain over those before it: the logarithm of the best ratio, summed over
    networks, weighted by similarity, and over the tolerance classes that a user may accept. This
    sum is submodular, so the greedy selection reaches 63 % of the best set (Nemhauser, Wolsey &
    Fisher 1978; as in Auto-sklearn 2.0, Feurer et al. 2022).

    Only networks of the same architecture class count if there are enough of them.
    """
    same = [peer for peer in peers if peer.architecture_class == architecture_class]
    selected = same if len(same) >= ENOUGH else list(peers)
    if not selected:
        return []
    table = _Table(selected)
    chosen: list[int] = []
    best = np.zeros((len(selected), len(TOLERANCES)))
    total = 0.0
    while len(chosen) < most:
        gains = table.gains(best)
        at = int(np.argmax(gains))
        if gains[at] <= max(1e-6, _SMALLEST_GAIN * total):
            break
        total += float(gains[at])
        chosen.append(at)
        best = table.with_candidate(best, at)
    return [(table.candidates[at], exp(float(table.expected[at]))) for at in chosen]


class _Table:
    """Candidates against networks.

    Attributes:
        values: Logarithms of ratios, ``[networks, candidates]``; imputed if not tried.
        expected: Their weighted means, ``[candidates]``.
    """

    def __init__(self, peers: Sequence[Peer]) -> None:
        by_sha: dict[str, Candidate] = {}
        classes: dict[str, Counter[Tolerance]] = defaultdict(Counter)
        for peer in peers:
            for result in peer.results:
                by_sha[result.candidate.sha256] = result.candidate
                classes[result.candidate.sha256][result.tolerance] += 0 if result.failed else 1
        order = {sha256: at for at, sha256 in enumerate(sorted(by_sha))}
        self.candidates = [by_sha[sha256] for sha256 in order]
        weights = np.array([peer.weight for peer in peers])
        self._weights = weights / max(weights.sum(), 1e-9)
        measured = np.full((len(peers), len(order)), np.nan)
        for row, peer in enumerate(peers):
            for result in peer.results:
                measured[row, order[result.candidate.sha256]] = result.value
        self.values, self.expected = _imputed(measured, self._weights)
        self._accepted = _accepted_by([classes[sha256] for sha256 in order])

    def gains(self, best: Floats) -> Floats:
        """Gain ``[candidates]`` of each candidate over ``best`` ``[networks, classes]``."""
        better = np.maximum(0.0, best[:, :, None] - self.values[:, None, :])
        per_class = np.einsum("m,mtc->tc", self._weights, better)
        return np.asarray((per_class * self._accepted).sum(axis=0), np.float64)

    def with_candidate(self, best: Floats, at: int) -> Floats:
        """``best`` ``[networks, classes]`` after adding the candidate at ``at``."""
        accepted = self._accepted[:, at] > 0
        value = self.values[:, at][:, None]
        return np.where(accepted[None, :], np.minimum(best, value), best)


def _imputed(measured: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Impute missing results by the weighted mean over other networks, shrunk to ratio 1."""
    tried = ~np.isnan(measured)
    weight = np.where(tried, weights[:, None], 0.0)
    summed = (weight * np.where(tried, measured, 0.0)).sum(axis=0)
    share = weight.sum(axis=0)
    prior = _PRIOR_WEIGHT / len(weights)
    return np.where(tried, measured, summed / (share + prior)), summed / np.maximum(share, 1e-9)


def _accepted_by(classes: Sequence[Mapping[Tolerance, int]]) -> Floats:
    """1 if users of a class accept a candidate, else 0: ``[classes, candidates]``. Classes without
    a candidate do not count: their users get the builds of other classes."""
    accepted: Any = np.zeros((len(TOLERANCES), len(classes)))
    own = [TOLERANCES.index(max(counts, key=lambda t: counts[t])) for counts in classes]
    for at, tolerance in enumerate(own):
        accepted[tolerance:, at] = 1.0
    accepted[[at for at in range(len(TOLERANCES)) if at not in own]] = 0.0
    return np.asarray(accepted, np.float64)
