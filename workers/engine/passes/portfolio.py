"""A few lists of passes for many networks, and whether portfolios per class are better.

The gain of a portfolio over networks is monotone and submodular, so adding the best list each time
comes within 63 % of the best portfolio of that size (Nemhauser, Wolsey and Fisher 1978, theorem
4.1).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from random import Random
from statistics import fmean
from typing import Literal

Grouping = Literal["class", "global", "shuffled"]

#: Random permutations of the classes among networks, for comparison.
SHUFFLES = 200


@dataclass(frozen=True, slots=True)
class NetworkScores:
    """The scores of lists of passes on one network.

    ``scores`` maps a list to the ratio if users may also choose the compiler's own list, above 0
    and at most 1. A list without a score was not tried and counts as 1.
    """

    name: str
    architecture_class: str
    scores: Mapping[str, float] = field(default_factory=dict)

    def with_portfolio(self, lists: Sequence[str]) -> float:
        """The ratio of the best of ``lists``; 1 is the compiler's own list."""
        return min((self.scores.get(each, 1.0) for each in lists), default=1.0)


def greedy(networks: Sequence[NetworkScores], most: int) -> tuple[str, ...]:
    """At most ``most`` lists, each with the largest gain over those before it.

    The gain is the sum of logarithms of ratios, so that halving any network counts equally. Of
    equal gains the shorter list is chosen, then the first in sorting order.
    """
    lists = {each for network in networks for each in network.scores}
    chosen: list[str] = []
    while len(chosen) < most:
        now = _loss(networks, chosen)
        gains = [(_loss(networks, [*chosen, each]) - now, len(each), each) for each in lists]
        best = min(gains, default=(0.0, 0, ""))
        if best[0] >= -1e-9:
            break
        chosen.append(best[2])
    return tuple(chosen)


def left_out(
    networks: Sequence[NetworkScores], most: int, grouping: Grouping, seed: int = 0
) -> dict[str, float]:
    """For each network its ratio with the portfolio of other networks (leave one out).

    ``grouping`` selects these: those of its class, all, or those of a random class, by permuting
    the classes among networks (mean logarithm over :data:`SHUFFLES` permutations).
    """
    if grouping == "shuffled":
        rng = Random(seed)  # noqa: S311  a permutation, no secret
        drawn = [_by_class(_shuffled(networks, rng), most) for _ in range(SHUFFLES)]
        return {n.name: exp(fmean(log(each[n.name]) for each in drawn)) for n in networks}
    if grouping == "global":
        networks = [replace(network, architecture_class="") for network in networks]
    return _by_class(networks, most)


def _by_class(networks: Sequence[NetworkScores], most: int) -> dict[str, float]:
    ratios = {}
    for network in networks:
        others = [
            other
            for other in networks
            if other.architecture_class == network.architecture_class and other is not network
        ]
        ratios[network.name] = network.with_portfolio(greedy(others, most))
    return ratios


def _shuffled(networks: Sequence[NetworkScores], rng: Random) -> list[NetworkScores]:
    classes = [network.architecture_class for network in networks]
    rng.shuffle(classes)
    return [
        replace(network, architecture_class=drawn)
        for network, drawn in zip(networks, classes, strict=True)
    ]


def _loss(networks: Sequence[NetworkScores], lists: Sequence[str]) -> float:
    return sum(log(network.with_portfolio(lists)) for network in networks)
