"""What a search strategy is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import final

from workers.engine.space import Space
from workers.engine.types import Candidate, Experience, Prior, Trial

#: Backend name to its space: where a search looks.
Spaces = Mapping[str, Space]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A candidate to try next.

    Attributes:
        proposed_by: Name of the strategy that thought of it, at most 32 characters.
        predicted_ratio: What it expects, where it has a model; one that has not seen the candidate.
        expected_gain: The most that the model expects of any candidate left: by what fraction the
            best build of its class becomes faster, averaged over what may come out; ``None``
            where no model says.
    """

    candidate: Candidate
    proposed_by: str
    predicted_ratio: float | None = None
    expected_gain: float | None = None


@dataclass(frozen=True, slots=True)
class SearchProblem:
    """Where a search takes place and what is known beforehand.

    Attributes:
        spaces: Where it looks.
        defaults: Of each backend; the first is the baseline's.
        history: Of earlier searches of the same key.
        experience: Of searches of other networks and targets.
        architecture_class: Of the network.
        embedding: Of its structure.
        target: Its slug.
        features: The target's.
        late: Backends that take long to build, and wait until the others had their turn.
    """

    spaces: Spaces
    seed: int = 0
    defaults: Sequence[Candidate] = ()
    history: Sequence[Prior] = ()
    experience: Sequence[Experience] = ()
    architecture_class: str = ""
    embedding: tuple[float, ...] = ()
    target: str = ""
    features: frozenset[str] = frozenset()
    late: frozenset[str] = frozenset()


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
