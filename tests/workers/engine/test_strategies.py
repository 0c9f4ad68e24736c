"""Search strategies, alone: what they propose, told made-up trials."""

from functools import cache
from statistics import mean

import pytest

from hpcfair.measurement.types import Interval
from workers.backends.fake.backend import FakeBackend, FaultyBackend
from workers.backends.fake.kernels import DEFAULT_S, latency_s
from workers.engine.strategies import SearchProblem, Spaces, Strategy, make_strategy, random
from workers.engine.strategies.default import FixedList
from workers.engine.strategies.random import RandomSearch
from workers.engine.strategies.tpe import TPE, ratios_to_beat
from workers.engine.trials import Measurement, Prior, Trial
from workers.engine.types import BuildResult, Candidate, Options, Outcome
from workers.testing.strategy_contract import (
    CONFIGURATIONS,
    SPACES,
    StrategyContract,
    cost,
    run_to_end,
)

from .cast import NETWORK, TARGET

SPACE = FakeBackend().space(NETWORK, TARGET)
DEFAULT = Candidate("fake", FakeBackend().default(NETWORK, TARGET))
BEST = min(latency_s(o) for o in SPACE.enumerate() if o["precision"] == "float32")


class TestRandomSearch(StrategyContract):
    def make(self, spaces: Spaces, seed: int) -> Strategy:
        return RandomSearch(spaces, seed)


class TestTPE(StrategyContract):
    def make(self, spaces: Spaces, seed: int) -> Strategy:
        return TPE(spaces, seed)


class TestFixedList(StrategyContract):
    exhaustive = False

    def make(self, spaces: Spaces, seed: int) -> Strategy:  # noqa: ARG002
        listed = [(Candidate(name, space.at(0)), None) for name, space in spaces.items()]
        return FixedList(
            [*listed, *[(Candidate(n, s.at(1)), 0.5) for n, s in spaces.items()]], "list"
        )


class TestWholeSearch(StrategyContract):
    def make(self, spaces: Spaces, seed: int) -> Strategy:
        defaults = [Candidate(name, space.at(0)) for name, space in spaces.items()]
        priors = [Prior(Candidate("beta", spaces["beta"].at(3)), 0.8, "exact")]
        return make_strategy("tpe", SearchProblem(spaces, seed, defaults, priors))


def trial(number: int, candidate: Candidate, ratio: float | None, outcome: Outcome) -> Trial:
    measurement = None
    if ratio is not None:
        measurement = Measurement((), Interval(ratio, ratio, ratio), 1, 1, "same")
    tolerance = "int8" if candidate.options["precision"] == "int8" else "exact"
    return Trial(
        number=number,
        candidate=candidate,
        proposed_by="test",
        outcome=outcome,
        duration_s=1.0,
        build=BuildResult("measured", tolerance=tolerance),
        measurement=measurement,
    )


def is_good(options: Options) -> bool:
    """Within 5 % of the best float32 configuration."""
    return options["precision"] == "float32" and latency_s(options) <= 1.05 * BEST


def trials_to_good(strategy: Strategy, most: int) -> int:
    for number in range(1, most + 1):
        proposal = strategy.ask()
        assert proposal is not None
        if is_good(proposal.candidate.options):
            return number
        ratio = latency_s(proposal.candidate.options) / DEFAULT_S
        strategy.tell(trial(number, proposal.candidate, ratio, "measured"))
    return most


@cache
def cold(seed: int) -> int:
    return trials_to_good(TPE({"fake": SPACE}, seed), most=200)


def test_tpe_needs_less_than_half_the_trials_of_random_search() -> None:
    """Random search draws without replacement, so its mean is known: (N + 1) / (k + 1)."""
    good = sum(is_good(options) for options in SPACE.enumerate())
    blind = (SPACE.size + 1) / (good + 1)
    assert mean(map(cold, range(5))) < blind / 2


def test_random_search_needs_the_trials_that_theory_says() -> None:
    def draws_to_good(seed: int) -> int:
        trials = run_to_end(RandomSearch(SPACES, seed))
        return next(n for n, found in enumerate(trials, 1) if cost(found.candidate) < 0.75)

    good = sum(cost(Candidate(n, o)) < 0.75 for n, s in SPACES.items() for o in s.enumerate())
    assert 1 < good < 10
    expected = (CONFIGURATIONS + 1) / (good + 1)
    assert mean(map(draws_to_good, range(400))) == pytest.approx(expected, rel=0.1)


def test_tpe_learns_to_avoid_what_fails() -> None:
    strategy = TPE({"faulty": FaultyBackend().space(NETWORK, TARGET)}, seed=0)
    failed: list[bool] = []
    for number in range(40):
        proposal = strategy.ask()
        assert proposal is not None
        fails = proposal.candidate.options["fault"] != "none"
        failed.append(fails)
        ratio = None if fails else latency_s(proposal.candidate.options) / DEFAULT_S
        outcome: Outcome = "invalid" if fails else "measured"
        strategy.tell(trial(number, proposal.candidate, ratio, outcome))
    assert sum(failed[-16:]) <= 8  # 14, were it blind


def test_each_default_comes_first_then_the_best_of_history_then_the_search() -> None:
    listed = [Candidate("alpha", SPACES["alpha"].at(0)), Candidate("beta", SPACES["beta"].at(0))]
    good = Candidate("beta", {"level": 3, "fast": True})
    quick = Candidate("beta", {"level": 4, "fast": True})
    history = [
        Prior(Candidate("beta", {"level": 2, "fast": True}), 1.2, "exact"),
        Prior(quick, 0.3, "int8"),
        Prior(good, 0.9, "exact"),
        Prior(Candidate("beta", {"level": 99, "fast": True}), 0.1, "exact"),
        Prior(Candidate("gone", {}), 0.1, "exact"),
    ]
    trials = list(run_to_end(make_strategy("tpe", SearchProblem(SPACES, 0, listed, history))))
    assert [t.candidate for t in trials[:4]] == [*listed, good, quick]
    assert [t.proposed_by for t in trials[:5]] == [
        "default",
        "default",
        "history",
        "history",
        "tpe",
    ]


def test_a_repetition_tries_the_baseline_and_the_history_and_nothing_else() -> None:
    listed = [Candidate("alpha", SPACES["alpha"].at(0)), Candidate("beta", SPACES["beta"].at(0))]
    slow = Prior(Candidate("beta", {"level": 2, "fast": True}), 1.2, "exact")
    quick = Prior(Candidate("beta", {"level": 4, "fast": True}), 0.3, "int8")
    problem = SearchProblem(SPACES, 0, listed, [slow, quick])
    trials = list(run_to_end(make_strategy("repeat", problem)))
    assert [t.candidate for t in trials] == [listed[0], slow.candidate, quick.candidate]
    assert {t.proposed_by for t in trials} == {"repeat"}


def test_history_tells_tpe_where_to_look() -> None:
    """With the same budget, a search that knows an earlier one's trials finds better builds."""
    known = [
        Prior(Candidate("fake", o), latency_s(o) / DEFAULT_S, "exact")
        for o in (SPACE.at(index) for index in range(0, SPACE.size, 17))
        if o["precision"] == "float32"
    ]
    warm = [trials_to_good(TPE({"fake": SPACE}, seed, known), 60) for seed in range(3)]
    assert mean(warm) < mean(map(cold, range(3)))


def test_the_default_strategy_tries_the_defaults_only() -> None:
    listed = [Candidate("alpha", SPACES["alpha"].at(0))]
    trials = list(run_to_end(make_strategy("default", SearchProblem(SPACES, 0, listed))))
    assert [trial.candidate for trial in trials] == listed


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="default, learned, random, tpe"):
        make_strategy("psychic", SearchProblem(SPACES))


def test_random_search_finds_the_last_configuration_of_a_large_space(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(random, "SMALL", 10)
    search = RandomSearch(SPACES, seed=0)
    every = {Candidate(n, o).sha256 for n, s in SPACES.items() for o in s.enumerate()}
    last = Candidate("beta", {"level": 3, "fast": False})
    proposal = search.propose(every - {last.sha256})
    assert proposal is not None
    assert proposal.candidate == last
    assert search.propose(every) is None


def test_random_search_of_a_large_space_repeats_nothing() -> None:
    search = RandomSearch({"faulty": FaultyBackend().space(NETWORK, TARGET)}, seed=0)
    drawn = [search.ask() for _ in range(300)]
    assert len({proposal.candidate.sha256 for proposal in drawn if proposal}) == 300


def test_a_class_has_to_beat_every_stricter_class_and_the_baseline() -> None:
    assert ratios_to_beat([(1.3, "exact"), (0.7, "bf16"), (0.9, "int8")]) == {
        "exact": 1.0,
        "fp16": 1.0,
        "bf16": 0.7,
        "int8": 0.7,
    }


def test_options_of_a_large_space_stay_their_own_types() -> None:
    proposal = TPE({"fake": SPACE}, seed=0).ask()
    assert proposal is not None
    options: Options = proposal.candidate.options
    assert isinstance(options["vectorise"], bool)
    assert isinstance(options["threads"], int)
