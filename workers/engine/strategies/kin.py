"""Results of the same network under other conditions: on other targets, with other toolchains."""

from collections import defaultdict
from collections.abc import Sequence
from math import exp

from workers.engine.strategies.base import SearchProblem
from workers.engine.strategies.peers import Peer, PeerResult
from workers.engine.trials import Prior


def priors_of_kin(problem: SearchProblem, peers: Sequence[Peer]) -> list[Prior]:
    """What to expect of each candidate that was measured on the problem's network elsewhere.

    A candidate of several targets has the ratio of the nearest one: that which has most features
    in common with the problem's (Jaccard index). Candidates that failed on all of them are left
    out.
    """
    results: dict[str, list[tuple[float, str, PeerResult]]] = defaultdict(list)
    for peer in peers:
        if peer.network == problem.network:
            nearness = _nearness(problem, peer)
            for result in peer.results:
                if not result.failed:
                    results[result.candidate.sha256].append((nearness, peer.target, result))
    nearest = [max(each, key=lambda entry: entry[:2])[2] for each in results.values()]
    return [Prior(each.candidate, exp(each.value), each.tolerance) for each in nearest]


def _nearness(problem: SearchProblem, peer: Peer) -> float:
    """1 on the target itself, below 1 elsewhere."""
    if peer.target == problem.target:
        return 1.0
    union = problem.features | peer.features
    return 0.99 * len(problem.features & peer.features) / len(union) if union else 0.0
