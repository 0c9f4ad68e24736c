"""Other networks' trials, brought into the spaces at hand and weighed by likeness."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from hpcfair.precisions import Tolerance
from workers.engine.strategies.base import SearchProblem, Spaces
from workers.engine.types import Candidate, Experience

#: Logarithms of ratios are cut here: beyond, slower is just slower. Failures count as the worst.
BEST_LOG, WORST_LOG = log(0.02), log(4.0)
#: Cosines of unlike networks still lie near 0.6, since all components are positive; the power
#: spreads them.
_SHARPNESS = 6
#: What a trial on another target is worth beside one on this.
_ELSEWHERE = 0.3


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a candidate on another network.

    Attributes:
        candidate: A member of the spaces at hand.
        value: Logarithm of its ratio, between ``BEST_LOG`` and ``WORST_LOG``; the latter if it
            failed.
        failed: It has no ratio.
    """

    candidate: Candidate
    tolerance: Tolerance
    value: float
    failed: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Peer:
    """Another network on this target, or any network on another one.

    Attributes:
        weight: 0 to 1, by likeness of structure and target.
        found: One entry for each candidate.
    """

    network: str
    architecture_class: str
    embedding: tuple[float, ...]
    target: str
    features: frozenset[str]
    weight: float
    found: tuple[Found, ...]


def value_of(ratio: float | None) -> float:
    """Logarithm of a ratio, cut; the worst where there is none."""
    return WORST_LOG if ratio is None else min(WORST_LOG, max(BEST_LOG, log(ratio)))


def peers_of(problem: SearchProblem) -> list[Peer]:
    """The networks of the scene's experience, likest first.

    Trials that mean nothing in the spaces at hand are left out, and networks left without any.
    """
    groups: dict[tuple[str, str], list[Experience]] = defaultdict(list)
    for trial in problem.experience:
        groups[trial.network, trial.target].append(trial)
    peers = [_peer(problem, trials) for trials in groups.values()]
    return sorted(
        (peer for peer in peers if peer.found),
        key=lambda peer: (-peer.weight, peer.network, peer.target),
    )


def project(candidate: Candidate, spaces: Spaces) -> Candidate | None:
    """The member of the spaces that comes closest to another network's candidate.

    Spaces differ with the network: an option may be missing from one of them, and then has its
    first value, the plainest. ``None`` if an option's value does not exist here.
    """
    space = spaces.get(candidate.backend)
    options = None if space is None else space.nearest(candidate.options)
    return None if options is None else Candidate(candidate.backend, options)


def _peer(problem: SearchProblem, trials: Sequence[Experience]) -> Peer:
    first = trials[0]
    likeness = cosine(problem.embedding, first.embedding) ** _SHARPNESS
    merged: dict[str, list[Found]] = defaultdict(list)
    for trial in trials:
        candidate = project(trial.candidate, problem.spaces)
        if candidate is not None:
            merged[candidate.sha256].append(
                Found(
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
        likeness * (1.0 if first.target == problem.target else _ELSEWHERE),
        tuple(_mean(found) for _, found in sorted(merged.items())),
    )


def _mean(found: Sequence[Found]) -> Found:
    """One entry for several of a candidate: failures count only where nothing else came of it."""
    timed = [each for each in found if not each.failed] or found
    return Found(
        timed[0].candidate,
        timed[0].tolerance,
        float(np.mean([each.value for each in timed])),
        timed[0].failed,
        float(np.median([each.seconds for each in found])),
    )


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Of two embeddings, 0 to 1; a middling 0.5 where one is unknown or of another make."""
    if not one or len(one) != len(other):
        return 0.5
    return float(min(1.0, max(0.0, np.dot(one, other))))


def rank_correlation(pairs: Sequence[tuple[float, float]]) -> float:
    """Spearman's, over ties by their mean rank; 0 where one side does not vary."""
    ranks = [_ranks([pair[side] for pair in pairs]) for side in (0, 1)]
    if len(pairs) < 2 or min(np.ptp(side) for side in ranks) == 0:
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    array = np.asarray(values, np.float64)
    below = (array[:, None] > array[None, :]).sum(axis=1)
    equal = (array[:, None] == array[None, :]).sum(axis=1)
    return np.asarray(below + (equal - 1) / 2, np.float64)
