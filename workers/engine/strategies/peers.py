"""Results of other networks, projected into the current spaces and weighted by similarity."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from hpcfair.precisions import Tolerance
from workers.engine.strategies.base import SearchProblem, Spaces
from workers.engine.trials import Experience
from workers.engine.types import Candidate

#: Bounds on logarithms of ratios. Failures count as the worst.
BEST_LOG, WORST_LOG = log(0.02), log(4.0)
#: Exponent of the cosine of embeddings. All their components are positive, so that dissimilar
#: networks still have cosines near 0.6.
_SHARPNESS = 6
#: Weight of a trial on another target relative to one on this target.
_ELSEWHERE = 0.3


@dataclass(frozen=True, slots=True)
class PeerResult:
    """The result of a candidate on another network.

    Attributes:
        candidate: A member of the current spaces.
        value: Logarithm of its ratio, from ``BEST_LOG`` to ``WORST_LOG``; the latter if it failed.
        failed: Whether it has no ratio.
        seconds: Duration of its trial.
    """

    candidate: Candidate
    tolerance: Tolerance
    value: float
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Peer:
    """Another network on this target, or any network on another one. ``weight`` is the similarity
    of structure and target, 0 to 1; ``results`` has one for each candidate."""

    network: str
    architecture_class: str
    embedding: tuple[float, ...]
    target: str
    features: frozenset[str]
    weight: float
    results: tuple[PeerResult, ...]


def value_of(ratio: float | None) -> float:
    """Logarithm of a ratio, clipped; the worst for ``None``."""
    return WORST_LOG if ratio is None else min(WORST_LOG, max(BEST_LOG, log(ratio)))


def peers_of(problem: SearchProblem) -> list[Peer]:
    """The networks of the problem's experience, most similar first. Trials without a member in the
    current spaces are left out, and networks without any trial."""
    groups: dict[tuple[str, str], list[Experience]] = defaultdict(list)
    for trial in problem.experience:
        groups[trial.network, trial.target].append(trial)
    peers = [_peer(problem, trials) for trials in groups.values()]
    return sorted(
        (peer for peer in peers if peer.results),
        key=lambda peer: (-peer.weight, peer.network, peer.target),
    )


def project(candidate: Candidate, spaces: Spaces) -> Candidate | None:
    """The member of the spaces that is nearest to another network's candidate.

    Spaces differ between networks: a missing option takes its first value, the plainest. ``None``
    if an option's value does not exist here.
    """
    space = spaces.get(candidate.backend)
    options = None if space is None else space.nearest(candidate.options)
    return None if options is None else Candidate(candidate.backend, options)


def _peer(problem: SearchProblem, trials: Sequence[Experience]) -> Peer:
    first = trials[0]
    similarity = cosine(problem.embedding, first.embedding) ** _SHARPNESS
    merged: dict[str, list[PeerResult]] = defaultdict(list)
    for trial in trials:
        candidate = project(trial.candidate, problem.spaces)
        if candidate is not None:
            merged[candidate.sha256].append(
                PeerResult(
                    candidate,
                    trial.tolerance,
                    value_of(trial.ratio),
                    trial.ratio is None,
                    trial.seconds,
                )
            )
    return Peer(
        first.network,
        first.architecture_class,
        first.embedding,
        first.target,
        first.features,
        similarity * (1.0 if first.target == problem.target else _ELSEWHERE),
        tuple(_merged(results) for _, results in sorted(merged.items())),
    )


def _merged(results: Sequence[PeerResult]) -> PeerResult:
    """One result for several of a candidate; failures count only if there is nothing else."""
    timed = [each for each in results if not each.failed] or results
    return PeerResult(
        timed[0].candidate,
        timed[0].tolerance,
        float(np.mean([each.value for each in timed])),
        timed[0].failed,
        float(np.median([each.seconds for each in results])),
    )


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine of two embeddings, 0 to 1; 0.5 if one is unknown or of another length."""
    if not one or len(one) != len(other):
        return 0.5
    return float(min(1.0, max(0.0, np.dot(one, other))))


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's rank correlation, with mean ranks for ties; 0 if one side is constant."""
    ranks = [_ranks([pair[side] for pair in pairs]) for side in (0, 1)]
    if len(pairs) < 2 or min(np.ptp(side) for side in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    equal = (array[:, None] == array[None, :]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2, np.float64)
