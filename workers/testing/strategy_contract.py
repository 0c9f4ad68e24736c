"""Contract of search strategies, tested by subclasses::

    class TestMine(StrategyContract):
        def make(self, spaces, seed):
            return Mine(spaces, seed)

See :meth:`StrategyContract.make`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import cycle

from hpcfair.measurement.types import Interval
from workers.engine.space import Choice, Conditional, Flag, IntRange, Space
from workers.engine.strategies import Proposal, Spaces, Strategy
from workers.engine.trials import Measurement, Trial
from workers.engine.types import BuildResult, Candidate, Outcome

#: Two backends, one with conditional parameters: 20 configurations.
SPACES: Spaces = {
    "alpha": Space(
        {
            "kernel": Choice(("direct", "blocked")),
            "tile": Conditional("kernel", ("blocked",), IntRange(1, 4)),
            "fuse": Flag(),
        }
    ),
    "beta": Space({"level": Choice((0, 1, 2, 3, 4)), "fast": Flag()}),
}
CONFIGURATIONS = 20

_WHOLE: dict[type["StrategyContract"], tuple[Strategy, list[Trial]]] = {}


def cost(candidate: Candidate) -> float:
    """A ratio from 0.5 to 2 that depends on all options."""
    options = candidate.options
    if candidate.backend == "beta":
        return 0.7 + 0.2 * int(options["level"]) - 0.1 * int(options["fast"])
    return 1.5 - 0.2 * int(options.get("tile", 0)) - 0.2 * int(options["fuse"])


def trial_of(number: int, proposal: Proposal, outcome: Outcome = "measured") -> Trial:
    """The trial of a proposal, with the ratio of :func:`cost` if it was measured."""
    ratio, measurement = cost(proposal.candidate), None
    if outcome in {"measured", "pruned"}:
        interval = Interval(ratio, ratio * 0.99, ratio * 1.01)
        measurement = Measurement((), interval, round(ratio * 1e6), 1_000_000, "unstable")
    return Trial(
        number=number,
        candidate=proposal.candidate,
        proposed_by=proposal.proposed_by,
        outcome=outcome,
        duration_s=1.0,
        build=BuildResult("measured"),
        measurement=measurement,
    )


def run_to_end(strategy: Strategy, *outcomes: Outcome) -> Iterator[Trial]:
    """Ask and tell until no configuration is left. The trials have the ``outcomes`` in turn, or are
    all measured if there are none."""
    turn = cycle(outcomes or ("measured",))
    for number in range(CONFIGURATIONS + 1):
        proposal = strategy.ask()
        if proposal is None:
            return
        trial = trial_of(number, proposal, next(turn))
        strategy.tell(trial)
        yield trial


class StrategyContract(ABC):
    """See :class:`workers.engine.strategies.base.Strategy`."""

    #: Whether the strategy goes on until every configuration was tried.
    exhaustive = True

    @abstractmethod
    def make(self, spaces: Spaces, seed: int) -> Strategy:
        """A fresh strategy over ``spaces``."""

    def whole(self) -> tuple[Strategy, list[Trial]]:
        """A strategy at its end and its search, shared by all tests that examine it."""
        if type(self) not in _WHOLE:
            strategy = self.make(SPACES, seed=3)
            _WHOLE[type(self)] = (strategy, list(run_to_end(strategy)))
        return _WHOLE[type(self)]

    def test_proposals_are_members_of_the_spaces_and_never_repeat(self) -> None:
        _, trials = self.whole()
        assert trials
        assert all(SPACES[t.candidate.backend].contains(t.candidate.options) for t in trials)
        assert len({trial.candidate.sha256 for trial in trials}) == len(trials)

    def test_it_ends_when_nothing_is_left(self) -> None:
        strategy, trials = self.whole()
        assert strategy.ask() is None
        assert len(trials) == CONFIGURATIONS or not self.exhaustive

    def test_proposals_not_told_yet_are_not_repeated(self) -> None:
        strategy = self.make(SPACES, seed=3)
        candidates = [strategy.ask() for _ in range(CONFIGURATIONS)]
        digests = [proposal.candidate.sha256 for proposal in candidates if proposal]
        assert len(set(digests)) == len(digests)

    def test_the_same_seed_gives_the_same_search(self) -> None:
        again = [trial.candidate for trial in run_to_end(self.make(SPACES, seed=3))]
        assert again == [trial.candidate for trial in self.whole()[1]]

    def test_a_resumed_search_goes_on_as_if_it_had_never_stopped(self) -> None:
        _, whole = self.whole()
        resumed = self.make(SPACES, seed=3)
        for trial in whole[:4]:
            resumed.tell(trial)
        rest = list(run_to_end(resumed))
        assert [t.candidate for t in rest] == [t.candidate for t in whole[4:]]

    def test_failures_are_taken_in_and_not_proposed_again(self) -> None:
        turns: tuple[tuple[Outcome, ...], ...] = (("invalid",), ("pruned", "wrong-output"))
        for outcomes in turns:
            trials = list(run_to_end(self.make(SPACES, seed=1), *outcomes))
            assert len({trial.candidate.sha256 for trial in trials}) == len(trials)
            assert len(trials) == CONFIGURATIONS or not self.exhaustive

    def test_a_candidate_is_open_again_after_the_machine_failed(self) -> None:
        strategy = self.make(SPACES, seed=1)
        proposal = strategy.ask()
        assert proposal is not None
        strategy.tell(trial_of(0, proposal, "infrastructure"))
        assert any(trial.candidate == proposal.candidate for trial in run_to_end(strategy))

    def test_trials_it_never_asked_for_may_be_told(self) -> None:
        """Such trials may also have a backend without a space."""
        strategy = self.make({"beta": SPACES["beta"]}, seed=1)
        nowhere = Candidate("alpha", {"kernel": "direct", "fuse": True})
        stranger = Candidate("beta", {"level": 0, "fast": True})
        for number, candidate in enumerate((nowhere, stranger)):
            strategy.tell(trial_of(number, Proposal(candidate, "somebody else")))
        rest = [trial.candidate for trial in run_to_end(strategy)]
        assert stranger not in rest
        assert all(candidate.backend == "beta" for candidate in rest)
