"""Search strategies: ask for a candidate, tell what came of it."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from workers.engine.strategies.base import Proposal, SearchProblem, Spaces, Strategy
from workers.engine.strategies.default import Listed, best_priors
from workers.engine.strategies.learned import Learned
from workers.engine.strategies.peers import peers_of
from workers.engine.strategies.random import RandomSearch
from workers.engine.strategies.tpe import TPE
from workers.engine.types import Trial

__all__ = [
    "STRATEGIES",
    "InTurn",
    "Proposal",
    "SearchProblem",
    "Spaces",
    "Strategy",
    "make_strategy",
]

#: How many of history's best in each tolerance class are tried before the search proper.
FROM_HISTORY = 2


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


def _known_first(problem: SearchProblem, *then: Strategy) -> Strategy:
    """Every backend's default, then the best of earlier searches of the key, then the rest."""
    return InTurn(
        [
            Listed([(candidate, None) for candidate in problem.defaults], "default"),
            Listed(best_priors(problem.history, FROM_HISTORY), "history"),
            *then,
        ]
    )


#: Name to maker. "default" searches no further than the known; "learned" is what jobs use.
STRATEGIES: dict[str, Callable[[SearchProblem], Strategy]] = {
    "default": _known_first,
    "learned": Learned,
    "random": lambda problem: _known_first(problem, RandomSearch(problem.spaces, problem.seed)),
    "tpe": lambda problem: _known_first(
        problem, TPE(problem.spaces, problem.seed, problem.history, peers_of(problem))
    ),
}


def make_strategy(name: str, problem: SearchProblem) -> Strategy:
    """The strategy ``name``, over what of the scene's history is in its spaces.

    Raises:
        ValueError: there is no strategy of that name.
    """
    if name not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    usable = [
        prior
        for prior in problem.history
        if prior.candidate.backend in problem.spaces
        and problem.spaces[prior.candidate.backend].contains(prior.candidate.options)
    ]
    return STRATEGIES[name](replace(problem, history=usable))
