"""A handful of configurations that together serve networks of a kind well."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import exp
from typing import Any

import numpy as np
import numpy.typing as npt

from hpcfair.precisions import TOLERANCES, Tolerance
from workers.engine.strategies.peers import Peer
from workers.engine.types import Candidate

#: Configurations in a portfolio at most.
MOST = 8
#: Networks of the architecture class below which those of other classes are asked as well.
ENOUGH = 3
#: A configuration that adds less than this share of what the portfolio has is left out.
_WORTH = 0.02
#: Weight of "no gain" in what is assumed of a network on which a configuration was not tried.
_DOUBT = 0.5

Floats = npt.NDArray[np.float64]


def portfolio(
    peers: Sequence[Peer], architecture_class: str, most: int = MOST
) -> list[tuple[Candidate, float | None]]:
    """Configurations with the ratio to expect of each, best first.

    Each is the one that adds most to those before it: how much faster the best of them all is, as
    a logarithm, summed over networks, weighed by likeness, and over the tolerance classes a user
    may accept. That sum is submodular, so the greedy choice reaches 63 % of what the best set
    could (Nemhauser, Wolsey & Fisher 1978; as in Auto-sklearn 2.0, Feurer et al. 2022).

    Networks of the same architecture class count alone where there are a few, else all.
    """
    same = [peer for peer in peers if peer.architecture_class == architecture_class]
    asked = same if len(same) >= ENOUGH else list(peers)
    if not asked:
        return []
    table = _Table(asked)
    chosen: list[int] = []
    best = np.zeros((len(asked), len(TOLERANCES)))
    total = 0.0
    while len(chosen) < most:
        gains = table.gains(best)
        at = int(np.argmax(gains))
        if gains[at] <= max(1e-6, _WORTH * total):
            break
        total += float(gains[at])
        chosen.append(at)
        best = table.with_candidate(best, at)
    return [(table.candidates[at], exp(float(table.expected[at]))) for at in chosen]


class _Table:
    """Candidates against networks.

    Attributes:
        values: Logarithms of ratios, ``[networks, candidates]``; assumed where nobody tried.
        expected: Their weighted means, ``[candidates]``.
    """

    def __init__(self, peers: Sequence[Peer]) -> None:
        by_sha: dict[str, Candidate] = {}
        classes: dict[str, Counter[Tolerance]] = defaultdict(Counter)
        for peer in peers:
            for found in peer.found:
                by_sha[found.candidate.sha256] = found.candidate
                classes[found.candidate.sha256][found.tolerance] += 0 if found.failed else 1
        order = {sha256: at for at, sha256 in enumerate(sorted(by_sha))}
        self.candidates = [by_sha[sha256] for sha256 in order]
        weights = np.array([peer.weight for peer in peers])
        self._weights = weights / max(weights.sum(), 1e-9)
        known = np.full((len(peers), len(order)), np.nan)
        for row, peer in enumerate(peers):
            for found in peer.found:
                known[row, order[found.candidate.sha256]] = found.value
        self.values, self.expected = _completed(known, self._weights)
        self._accepted = _accepted_by([classes[sha256] for sha256 in order])

    def gains(self, best: Floats) -> Floats:
        """What each candidate adds to ``best`` ``[networks, classes]``: ``[candidates]``."""
        better = np.maximum(0.0, best[:, :, None] - self.values[:, None, :])
        per_class = np.einsum("m,mtc->tc", self._weights, better)
        return np.asarray((per_class * self._accepted).sum(axis=0), np.float64)

    def with_candidate(self, best: Floats, at: int) -> Floats:
        accepted = self._accepted[:, at] > 0
        value = self.values[:, at][:, None]
        return np.where(accepted[None, :], np.minimum(best, value), best)


def _completed(known: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Assume of a network nobody tried a candidate on what it gave elsewhere, less some doubt."""
    tried = ~np.isnan(known)
    weight = np.where(tried, weights[:, None], 0.0)
    summed = (weight * np.where(tried, known, 0.0)).sum(axis=0)
    share = weight.sum(axis=0)
    doubt = _DOUBT / len(weights)
    return np.where(tried, known, summed / (share + doubt)), summed / np.maximum(share, 1e-9)


def _accepted_by(classes: Sequence[Mapping[Tolerance, int]]) -> Floats:
    """1 where users of a class accept a candidate: ``[classes, candidates]``.

    Only classes that some candidate is of count: users of the others get what those get.
    """
    accepted: Any = np.zeros((len(TOLERANCES), len(classes)))
    own = [TOLERANCES.index(max(counts, key=lambda t: counts[t])) for counts in classes]
    for at, tolerance in enumerate(own):
        accepted[tolerance:, at] = 1.0
    accepted[[at for at in range(len(TOLERANCES)) if at not in own]] = 0.0
    return np.asarray(accepted, np.float64)
