"""Searches by the learned strategy over the spaces of the contract, without building anything."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from hpcfair.measurement.types import Interval
from workers.engine.strategies import Strategy
from workers.engine.strategies.learned import Learned
from workers.engine.trials import Experience, Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome
from workers.testing.strategy_contract import cost

from .others import EVERY, problem

BEST = min(cost(candidate) for candidate in EVERY)


def told(candidate: Candidate, ratio: float | None, number: int = 0) -> Trial:
    measurement = None
    if ratio is not None:
        measurement = Measurement((), Interval(ratio, ratio, ratio), 1, 1, "same")
    outcome: Outcome = "measured" if ratio is not None else "crash"
    built = BuildResult(outcome)
    return Trial(number, candidate, "test", outcome, 1.0, built, measurement=measurement)


def found(
    strategy: Strategy, ratio: Callable[[Candidate], float | None], trials: int
) -> Iterator[Trial]:
    """A search, as far as anybody looks at it."""
    for number in range(trials):
        proposal = strategy.ask()
        if proposal is None:
            return
        trial = told(proposal.candidate, ratio(proposal.candidate), number)
        trial = replace(trial, proposed_by=proposal.proposed_by)
        strategy.tell(trial)
        yield trial


def searched(
    strategy: Strategy, ratio: Callable[[Candidate], float | None], trials: int
) -> list[Trial]:
    return list(found(strategy, ratio, trials))


def trials_to_best(known: list[Experience], seed: int) -> int:
    search = found(Learned(problem(known, seed)), cost, len(EVERY))
    return next(at for at, t in enumerate(search, 1) if t.ratio is not None and t.ratio <= BEST)


@cache
def trials_without_experience(seed: int) -> int:
    return trials_to_best([], seed)
