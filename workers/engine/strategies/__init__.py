"""Search strategies, by name."""

from collections.abc import Callable, Sequence, Set
from dataclasses import replace

from workers.engine.strategies.base import Proposal, SearchProblem, Spaces, Strategy
from workers.engine.strategies.default import FixedList, best_priors
from workers.engine.strategies.learned import Learned
from workers.engine.strategies.peers import peers_of
from workers.engine.strategies.random import RandomSearch
from workers.engine.strategies.tpe import TPE
from workers.engine.trials import Trial

__all__ = [
    "STRATEGIES",
    "Proposal",
    "SearchProblem",
    "Spaces",
    "Strategy",
    "StrategyChain",
    "make_strategy",
]

#: Best candidates of the history to try first, for each tolerance class.
FROM_HISTORY = 2


class StrategyChain(Strategy):
    """Proposes from the first of several strategies that has a candidate left; all learn."""

    def __init__(self, strategies: Sequence[Strategy]) -> None:
        super().__init__()
        self._strategies = tuple(strategies)

    def propose(self, excluded: Set[str]) -> Proposal | None:
        proposals = (strategy.propose(excluded) for strategy in self._strategies)
        return next((proposal for proposal in proposals if proposal), None)

    def learn(self, trial: Trial) -> None:
        for strategy in self._strategies:
            strategy.learn(trial)


def _after_known(problem: SearchProblem, *then: Strategy) -> Strategy:
    """Every backend's default, then the best of earlier searches of the key, then ``then``."""
    return StrategyChain(
        [
            FixedList([(candidate, None) for candidate in problem.defaults], "default"),
            FixedList(best_priors(problem.history, FROM_HISTORY), "history"),
            *then,
        ]
    )


def _repeat(problem: SearchProblem) -> Strategy:
    """The baseline and the candidates of the history, to measure them again."""
    priors = [(prior.candidate, prior.ratio) for prior in problem.history]
    return FixedList([*((each, None) for each in problem.defaults[:1]), *priors], "repeat")


#: Name to constructor. ``default`` and ``repeat`` try only known candidates; searches use
#: ``learned``.
STRATEGIES: dict[str, Callable[[SearchProblem], Strategy]] = {
    "default": _after_known,
    "learned": Learned,
    "random": lambda problem: _after_known(problem, RandomSearch(problem.spaces, problem.seed)),
    "tpe": lambda problem: _after_known(
        problem, TPE(problem.spaces, problem.seed, problem.history, peers_of(problem))
    ),
    "repeat": _repeat,
}


def make_strategy(name: str, problem: SearchProblem) -> Strategy:
    """The strategy ``name``; raises ValueError if there is none. History outside the problem's
    spaces is ignored."""
    if name not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; there are {', '.join(STRATEGIES)}")
    usable = [
        prior
        for prior in problem.history
        if prior.candidate.backend in problem.spaces
        and problem.spaces[prior.candidate.backend].contains(prior.candidate.options)
    ]
    return STRATEGIES[name](replace(problem, history=usable))
