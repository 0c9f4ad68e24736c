"""The search that learns from other networks, told made-up trials."""

from dataclasses import replace
from statistics import mean

import pytest

from workers.engine.space import Choice, Conditional, Flag, Space
from workers.engine.strategies import (
    SearchProblem,
    Spaces,
    Strategy,
    backend_selection,
    make_strategy,
)
from workers.engine.strategies.backend_selection import COSTLY, SLOW_AFTER
from workers.engine.strategies.learned import FROM_PORTFOLIO, Learned
from workers.engine.strategies.novel import with_untried_option
from workers.engine.trials import Prior
from workers.engine.types import Candidate, Options
from workers.testing.strategy_contract import SPACES, StrategyContract, cost, run_to_end

from .learning import searched, told, trials_to_best, trials_without_experience
from .others import BASELINE, EVERY, OTHER, experience, many, problem


@pytest.fixture(autouse=True)
def never_look_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend that others gave up is given up: no search looks again by chance."""
    monkeypatch.setattr(backend_selection, "RETRY_SHARE", 0.0)


class TestCold(StrategyContract):
    #: A backend whose trials all fail is given up.
    exhaustive = False

    def make(self, spaces: Spaces, seed: int) -> Strategy:
        defaults = [Candidate(name, space.at(0)) for name, space in spaces.items()]
        return make_strategy("learned", SearchProblem(spaces, seed, defaults))


class TestWithHistoryAndExperience(StrategyContract):
    exhaustive = False

    def make(self, spaces: Spaces, seed: int) -> Strategy:
        defaults = [Candidate(name, space.at(0)) for name, space in spaces.items()]
        known = replace(problem(many(6), seed), spaces=spaces, defaults=defaults)
        prior = Prior(Candidate("beta", spaces["beta"].at(3)), 0.8, "exact")
        return make_strategy("learned", replace(known, history=[prior]))


def test_without_experience_the_defaults_come_first_then_the_model() -> None:
    done = list(run_to_end(Learned(problem([]))))
    assert [trial.candidate for trial in done[:2]] == [BASELINE, OTHER]
    assert {trial.proposed_by for trial in done[2:]} == {"model", "tpe", "random"}


def test_experience_finds_the_best_in_a_handful_of_trials() -> None:
    assert max(trials_to_best(many(6), seed) for seed in range(2)) <= 4


def test_the_order_is_baseline_history_portfolio_ranking() -> None:
    prior = Prior(Candidate("beta", {"level": 2, "fast": True}), 0.9, "exact")
    strategy = make_strategy("learned", replace(problem(many(6)), history=[prior]))
    by = [trial.proposed_by for trial in searched(strategy, cost, 12)]
    assert by[:3] == ["default", "history", "portfolio"]
    assert "ranking" in by
    assert by.index("ranking") > by.index("portfolio")


def test_what_was_fast_for_this_network_on_the_nearest_target_is_tried_first() -> None:
    here, far = (
        Candidate("beta", {"level": 2, "fast": True}),
        Candidate("alpha", {"kernel": "direct", "fuse": True}),
    )
    near = experience(7, lambda _: 0.7, [here], target="kin")
    near += experience(7, lambda _: 1.2, [far], target="kin")
    other = [
        replace(each, features=frozenset({"neon"}))
        for each in experience(7, lambda _: 0.5, [here, far], target="other")
    ]
    same = replace(problem([*many(6), *near, *other]), network="network 7")
    strategy = Learned(same)
    _, first, second = (strategy.ask() for _ in range(3))
    assert first is not None
    assert second is not None
    assert (first.proposed_by, first.candidate) == ("kin", here)
    assert first.predicted_ratio == pytest.approx(0.7)
    assert second.proposed_by == "portfolio"
    # Of another network, they are not.
    strangers = searched(Learned(replace(same, network="network 8")), cost, 3)
    assert "kin" not in [trial.proposed_by for trial in strangers]


def test_what_a_backend_promises_is_tried_whatever_served_others() -> None:
    """Others may lack what makes this network fast."""
    wish: Options = {"level": 4, "fast": False}
    spaces = {**SPACES, "beta": SPACES["beta"].with_promising(wish)}
    strategy = make_strategy("learned", replace(problem(many(6)), spaces=spaces))
    found = searched(strategy, cost, 2 + FROM_PORTFOLIO)
    by = [trial.proposed_by for trial in found]
    promised = by.index("promising")
    assert found[promised].candidate == Candidate("beta", wish)
    assert by[:promised] == ["default", *["portfolio"] * (promised - 1)]


def test_an_adversarial_history_costs_little() -> None:
    """All others say the opposite of what is true here: after a few trials nobody listens."""
    wrong = many(6, lambda candidate: 0.6 / cost(candidate))
    misled = [trials_to_best(wrong, seed) for seed in range(3)]
    cold = map(trials_without_experience, range(3))
    assert mean(misled) <= mean(cold) + 6


def test_predictions_are_of_candidates_not_tried_yet_and_come_close() -> None:
    strategy = Learned(problem(many(6)))
    for candidate in (BASELINE, OTHER):
        strategy.tell(told(candidate, cost(candidate)))
    errors = []
    while (proposal := strategy.ask()) is not None:
        if proposal.predicted_ratio is not None:
            errors.append(abs(proposal.predicted_ratio / cost(proposal.candidate) - 1))
        strategy.tell(told(proposal.candidate, cost(proposal.candidate)))
    assert len(errors) >= 10
    assert mean(errors) < 0.15


def test_the_expected_gain_falls_as_less_is_left_to_find() -> None:
    strategy = Learned(problem([]))
    gains = []
    while (proposal := strategy.ask()) is not None:
        if proposal.expected_gain is not None:
            gains.append(proposal.expected_gain)
        strategy.tell(told(proposal.candidate, cost(proposal.candidate)))
    assert gains[0] > 0.05
    assert gains[-1] < 0.02


# Backends that are not worth it


def slow(candidate: Candidate) -> float:
    return 30.0 if candidate.backend == "beta" else cost(candidate)


def test_a_backend_that_is_far_slower_gets_one_trial() -> None:
    done = searched(Learned(problem([])), slow, len(EVERY))
    assert sum(trial.candidate.backend == "beta" for trial in done) == 1


def test_a_backend_that_was_far_slower_on_every_network_gets_none() -> None:
    done = searched(Learned(problem(many(4, slow))), slow, len(EVERY))
    assert all(trial.candidate.backend == "alpha" for trial in done)


def test_a_search_whose_only_backend_is_given_up_ends() -> None:
    only = SearchProblem({"beta": SPACES["beta"]}, 0, [BASELINE, OTHER])
    done = searched(Learned(only), slow, len(EVERY))
    assert [trial.candidate for trial in done] == [BASELINE, OTHER]


def test_a_backend_that_takes_nothing_is_given_up() -> None:
    done = searched(
        Learned(problem([])), lambda c: None if c.backend == "beta" else cost(c), len(EVERY)
    )
    assert sum(trial.candidate.backend == "beta" for trial in done) == 3


def test_a_backend_that_takes_long_to_build_waits_for_the_others() -> None:
    done = searched(
        Learned(replace(problem([]), slow_backends=frozenset({"beta"}))), cost, len(EVERY)
    )
    first = next(at for at, t in enumerate(done) if t.candidate.backend == "beta")
    assert first == SLOW_AFTER
    # What others have tried needs no waiting: whether it pays is known.
    known = searched(
        Learned(replace(problem(many(6)), slow_backends=frozenset({"beta"}))), cost, SLOW_AFTER
    )
    assert any(trial.candidate.backend == "beta" for trial in known)


def test_a_backend_whose_trials_use_up_searches_waits_unless_it_served_this_network() -> None:
    costly = [
        replace(each, seconds=60.0 if each.candidate.backend == "beta" else 2.0) for each in many(6)
    ]
    waiting = replace(problem(costly), slow_backends=frozenset({"beta"}))
    done = searched(Learned(waiting), cost, len(EVERY))
    assert next(at for at, t in enumerate(done) if t.candidate.backend == "beta") == SLOW_AFTER
    # Its builds of this network are worth the time.
    prior = Prior(Candidate("beta", {"level": 2, "fast": True}), 0.6, "exact")
    again = searched(Learned(replace(waiting, history=[prior])), cost, 2)
    assert [trial.candidate for trial in again] == [BASELINE, prior.candidate]


@pytest.mark.parametrize("seconds", [SLOW_AFTER + COSTLY, SLOW_AFTER + COSTLY - 1])
def test_a_slow_backend_is_not_begun_when_little_time_is_left(seconds: float) -> None:
    # A trial of the contract takes a second.
    short = replace(problem([]), slow_backends=frozenset({"beta"}), seconds=seconds)
    done = searched(Learned(short), cost, SLOW_AFTER + 1)
    is_tried = any(trial.candidate.backend == "beta" for trial in done)
    assert is_tried == (seconds == SLOW_AFTER + COSTLY)


def test_the_time_of_a_slow_backend_is_that_of_other_networks_relative_to_other_backends() -> None:
    costly = [
        replace(each, seconds=60.0 if each.candidate.backend == "beta" else 2.0) for each in many(6)
    ]
    short = replace(problem(costly), slow_backends=frozenset({"beta"}), seconds=30.0)
    done = searched(Learned(short), cost, len(EVERY))
    assert all(trial.candidate.backend == "alpha" for trial in done)


def test_a_slow_backend_waits_for_no_backend_that_has_nothing_left() -> None:
    only = SearchProblem(
        {"beta": SPACES["beta"]}, 0, [BASELINE, OTHER], slow_backends=frozenset({"beta"})
    )
    done = searched(Learned(only), cost, 4)
    assert [trial.candidate.backend for trial in done] == ["alpha", "beta", "beta", "beta"]


def test_a_backend_given_up_gets_another_trial_when_it_has_learned_something() -> None:
    spaces = {
        **SPACES,
        "beta": Space({**SPACES["beta"].parameters, "schedules": Choice(("untuned", "database"))}),
    }
    better = replace(problem(many(4, slow)), spaces=spaces)
    better = replace(
        better, defaults=[BASELINE, Candidate("beta", {**OTHER.options, "schedules": "untuned"})]
    )
    done = searched(Learned(better), slow, 30)
    tried = [trial.candidate.options for trial in done if trial.candidate.backend == "beta"]
    assert tried == [{**OTHER.options, "schedules": "database"}]


def test_an_option_of_the_networks_own_is_unseen_whatever_others_did_with_theirs() -> None:
    spaces = {**SPACES, "beta": replace(SPACES["beta"], own=frozenset({"fast"}))}
    made = make_strategy("learned", replace(problem(many(6, slow)), spaces=spaces))
    own = [t for t in searched(made, slow, 12) if t.candidate.backend == "beta"]
    assert [t.proposed_by for t in own] == ["unseen"]
    assert own[0].candidate.options["fast"] is True


def test_an_unseen_option_brings_what_it_depends_on() -> None:
    space = Space(
        {
            "shapes": Choice(("open", "fixed")),
            "tuned": Conditional("shapes", ("fixed",), Flag()),
            "deep": Conditional("tuned", (True,), Choice((1, 2))),
        }
    )
    default = Candidate("x", {"shapes": "open"})
    found = with_untried_option(default, space, {"shapes", "tuned"})
    assert found == Candidate("x", {"shapes": "fixed", "tuned": True, "deep": 2})
    assert with_untried_option(default, space, {"shapes", "tuned", "deep"}) is None


def test_an_unseen_option_comes_as_the_backend_wishes_it() -> None:
    wish: Options = {"passes": "wide", "schedules": "database"}
    space = Space(
        {"passes": Choice(("plain", "wide")), "schedules": Choice(("untuned", "database"))}
    ).with_promising(wish)
    default = Candidate("x", {"passes": "plain", "schedules": "untuned"})
    assert with_untried_option(default, space, {"passes"}) == Candidate("x", wish)


# Large spaces


@pytest.mark.parametrize("known", [0, 5])
def test_a_space_too_large_to_list_is_searched_around_the_best(known: int) -> None:
    space = Space({f"o{at}": Choice(tuple(range(4))) for at in range(8)})

    def ratio(candidate: Candidate) -> float:
        return 1.0 + 0.05 * sum(int(value) for value in candidate.options.values()) - 0.4

    default = Candidate("big", space.at(space.size - 1))
    others = [e for n in range(known) for e in experience(n, ratio, [default])]
    place = SearchProblem({"big": space}, 1, [default], experience=others, target="here")
    done = searched(Learned(place), ratio, 15)
    assert len({trial.candidate.sha256 for trial in done}) == 15
    assert all(space.contains(trial.candidate.options) for trial in done)
    ratios = [trial.ratio for trial in done if trial.ratio is not None]
    assert min(ratios) < 0.7 * ratios[0]
