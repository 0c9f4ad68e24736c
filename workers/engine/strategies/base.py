"""What a search strategy is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import final

from workers.engine.space import Space
from workers.engine.types import Candidate, Trial

#: Backend name to its space: where a search looks.
Spaces = Mapping[str, Space]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate to try next.

    Attributes:
        proposed_by: Name of the strategy that thought of it, at most 32 characters.
        predicted_ratio: What it expects, where it has a model.
    """

    candidate: Candidate
    proposed_by: str
    predicted_ratio: float | None = None


class Strategy(ABC):
    """Ask for a candidate, try it, tell what came of it. Used by one thread.

    The contract, which :class:`workers.testing.strategy_contract.StrategyContract` checks:

    - ``ask`` proposes only members of the spaces, and never one that was told, or proposed and not
      yet told. ``None`` means that nothing is left to propose.
    - Any trial may be told, asked for or not: a resumed search tells its stored trials first and
      goes on as if it had never stopped.
    - Failures are told like successes and are never proposed again. Except
      ``outcome == "infrastructure"``: it says nothing about the candidate, which is then open
      again.
    - What ``ask`` returns depends on spaces, seed and what was told or asked before, on nothing
      else: no clock, no global state.

    Subclasses implement :meth:`propose` and, to learn, :meth:`learn`; this class keeps the books.
    """

    def __init__(self) -> None:
        self._told: set[str] = set()
        self._pending: set[str] = set()

    @final
    def ask(self) -> Proposal | None:
        """The next candidate, or ``None`` when there is none."""
        proposal = self.propose(self._told | self._pending)
        if proposal is not None:
            self._pending.add(proposal.candidate.sha256)
        return proposal

    @final
    def tell(self, trial: Trial) -> None:
        """Take in a finished trial."""
        self._pending.discard(trial.candidate.sha256)
        if trial.outcome != "infrastructure":
            self._told.add(trial.candidate.sha256)
            self.learn(trial)

    @abstractmethod
    def propose(self, taken: Set[str]) -> Proposal | None:
        """A candidate whose ``sha256`` is not in ``taken``, or ``None``; changes nothing."""

    def learn(self, trial: Trial) -> None:  # noqa: B027 - most strategies have nothing to learn
        """Take in a trial that says something about its candidate."""
