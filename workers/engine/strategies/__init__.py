"""Search strategies: ask for a candidate, tell what came of it."""

from collections.abc import Callable, Sequence, Set

from workers.engine.strategies.base import Proposal, Spaces, Strategy
from workers.engine.strategies.default import Listed, best_priors
from workers.engine.strategies.random import RandomSearch
from workers.engine.strategies.tpe import TPE
from workers.engine.types import Candidate, Prior, Trial

__all__ = ["STRATEGIES", "InTurn", "Proposal", "Spaces", "Strategy", "make_strategy"]

#: How many of history's best in each tolerance class are tried before the search proper.
FROM_HISTORY = 2

#: Name to maker from spaces, seed and history. "default" searches no further than the known.
STRATEGIES: dict[str, Callable[[Spaces, int, Sequence[Prior]], Strategy]] = {
    "default": lambda _spaces, _seed, _history: Listed([], "default"),
    "random": lambda spaces, seed, _history: RandomSearch(spaces, seed),
    "tpe": TPE,
}


class InTurn(Strategy):
    """Proposes from the first of several strategies that has something left; all learn."""

    def __init__(self, strategies: Sequence[Strategy]) -> None:
        super().__init__()
        self._strategies = tuple(strategies)

    def propose(self, taken: Set[str]) -> Proposal | None:
        proposals = (strategy.propose(taken) for strategy in self._strategies)
        return next((proposal for proposal in proposals if proposal), None)

    def learn(self, trial: Trial) -> None:
        for strategy in self._strategies:
            strategy.learn(trial)


def make_strategy(
    name: str,
    spaces: Spaces,
    defaults: Sequence[Candidate],
    history: Sequence[Prior],
    seed: int,
) -> Strategy:
    """Every backend's default, then the best of earlier searches, then the strategy ``name``.

    Raises:
        ValueError: there is no strategy of that name.
    """
    if name not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    usable = [
        prior
        for prior in history
        if prior.candidate.backend in spaces
        and spaces[prior.candidate.backend].contains(prior.candidate.options)
    ]
    return InTurn(
        [
            Listed([(candidate, None) for candidate in defaults], "default"),
            Listed(best_priors(usable, FROM_HISTORY), "history"),
            STRATEGIES[name](spaces, seed, usable),
        ]
    )
