"""The interface of a search strategy."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import final

from workers.engine.space import Space
from workers.engine.trials import Experience, Prior, Trial
from workers.engine.types import Candidate

#: Backend name to the space of its options.
Spaces = Mapping[str, Space]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate to try next.

    Attributes:
        proposed_by: Name of the strategy, at most 32 characters.
        predicted_ratio: Predicted by a model that has not seen the candidate; ``None`` without one.
        expected_gain: Largest expected improvement among all untried candidates, as a fraction of
            the latency of the best build of the class; ``None`` without a model.
    """

    candidate: Candidate
    proposed_by: str
    predicted_ratio: float | None = None
    expected_gain: float | None = None


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """The spaces of a search and the prior knowledge.

    Attributes:
        defaults: The default of each backend; the first is the baseline.
        history: Results of earlier searches of the same key.
        experience: Results of searches of other networks and targets.
        network: Graph hash of the network.
        architecture_class, embedding: Of the network.
        target: Slug of the target.
        features: Of the target.
        slow_backends: Backends with long builds, which are tried after the others.
        seconds: Time for all trials; ``None`` is unbounded.
    """

    spaces: Spaces
    seed: int = 0
    defaults: Sequence[Candidate] = ()
    history: Sequence[Prior] = ()
    experience: Sequence[Experience] = ()
    network: str = ""
    architecture_class: str = ""
    embedding: tuple[float, ...] = ()
    target: str = ""
    features: frozenset[str] = frozenset()
    slow_backends: frozenset[str] = frozenset()
    seconds: float | None = None


class Strategy(ABC):
    """Proposes candidates and learns from their trials: ask and tell. Used by one thread.

    The contract, which :class:`workers.testing.strategy_contract.StrategyContract` checks:

    - ``ask`` proposes only members of the spaces, and none that was told or is pending. ``None``
      means that nothing is left to propose.
    - Any trial may be told, whether it was asked for or not: a resumed search tells its stored
      trials first and continues as if it had not been interrupted.
    - Failures are told like successes and are not proposed again, except infrastructure failures,
      which leave the candidate open.
    - Trials that are not believed are told and not learned: their ratio says nothing.
    - The result of ``ask`` depends only on the spaces, the seed, and the earlier calls of ``ask``
      and ``tell``: on no clock and no global state.

    Subclasses implement :meth:`propose` and, to learn, :meth:`learn`.
    """

    def __init__(self) -> None:
        self._finished: set[str] = set()
        self._pending: set[str] = set()

    @final
    def ask(self) -> Proposal | None:
        """The next candidate; ``None`` if there is none."""
        proposal = self.propose(self._finished | self._pending)
        if proposal is not None:
            self._pending.add(proposal.candidate.sha256)
        return proposal

    @final
    def exclude(self, candidates: Set[str]) -> None:
        """Never propose candidates of these ``sha256``."""
        self._finished |= candidates

    @final
    def tell(self, trial: Trial) -> None:
        """Learn a finished trial."""
        self._pending.discard(trial.candidate.sha256)
        if trial.outcome != "infrastructure":
            self._finished.add(trial.candidate.sha256)
            if trial.is_believed:
                self.learn(trial)

    @abstractmethod
    def propose(self, excluded: Set[str]) -> Proposal | None:
        """A candidate whose ``sha256`` is not in ``excluded``, or ``None``. Has no side effects."""

    def learn(self, trial: Trial) -> None:  # noqa: B027 - some strategies do not learn
        """Learn a trial that is believed and no infrastructure failure."""
