"""Searches that know no network, or a few: too few to learn a ranking from."""

from dataclasses import replace
from statistics import mean

from workers.engine.space import Space
from workers.engine.strategies.backend_selection import FEWEST_NETWORKS
from workers.engine.strategies.learned import Learned
from workers.engine.types import Candidate
from workers.testing.strategy_contract import SPACES, cost

from .learning import searched, trials_to_best, trials_without_experience
from .others import BASELINE, OTHER, many, problem

PROMISING = {
    "alpha": SPACES["alpha"].with_promising(
        {"kernel": "blocked", "tile": 4, "fuse": True}, {"kernel": "blocked", "tile": 3}
    ),
    "beta": SPACES["beta"].with_promising({"fast": True}),
}


def test_without_experience_what_is_promising_comes_after_the_defaults_in_turn() -> None:
    done = searched(Learned(replace(problem([]), spaces=PROMISING)), cost, 6)
    assert [trial.candidate for trial in done[:5]] == [
        BASELINE,
        OTHER,
        Candidate("alpha", {"kernel": "blocked", "tile": 4, "fuse": True}),
        Candidate("beta", {"level": 0, "fast": True}),
        Candidate("alpha", {"kernel": "blocked", "tile": 3, "fuse": False}),
    ]
    assert [trial.proposed_by for trial in done[2:5]] == ["promising"] * 3
    assert done[5].proposed_by != "promising"


def test_where_many_networks_are_known_they_are_asked_first() -> None:
    known = replace(problem(many(FEWEST_NETWORKS)), spaces=PROMISING)
    by = [trial.proposed_by for trial in searched(Learned(known), cost, 10)]
    assert 0 < by.index("portfolio") < by.index("promising") < by.index("ranking")


def test_one_other_network_already_helps() -> None:
    told = [trials_to_best(many(1), seed) for seed in range(4)]
    cold = map(trials_without_experience, range(4))
    assert mean(told) < mean(cold)


def test_one_other_network_that_is_unlike_costs_little() -> None:
    wrong = [trials_to_best(many(1, lambda c: 0.6 / cost(c)), seed) for seed in range(4)]
    cold = map(trials_without_experience, range(4))
    assert mean(wrong) <= mean(cold) + 6


def test_a_backend_that_waits_is_not_promising_yet() -> None:
    waiting = replace(problem([]), spaces=PROMISING, slow_backends=frozenset({"beta"}))
    tried = [trial.candidate.backend for trial in searched(Learned(waiting), cost, 5)]
    assert tried == ["alpha"] * 5


def test_what_promises_nothing_here_is_left_out() -> None:
    space = Space(SPACES["beta"].parameters).with_promising({"level": 99}, {"level": 1, "odd": 2})
    assert space.promising == ({"level": 1, "fast": False},)
