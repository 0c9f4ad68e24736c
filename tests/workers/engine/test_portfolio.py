"""What other networks' trials come to: peers, portfolios, tolerance classes."""

from dataclasses import replace

import numpy as np
import pytest

from hpcfair.precisions import TOLERANCES
from workers.engine.space import Choice, Conditional, Flag, Space
from workers.engine.strategies.classes import class_shares
from workers.engine.strategies.peers import (
    WORST_LOG,
    cosine,
    peers_of,
    project,
    rank_correlation,
    value_of,
)
from workers.engine.strategies.portfolio import MOST, portfolio
from workers.engine.strategies.surrogate import is_trustworthy
from workers.engine.types import Candidate

from .others import EVERY, experience, problem

FIRST, SECOND, THIRD = EVERY[3], EVERY[8], EVERY[14]


def test_a_portfolio_serves_networks_that_want_different_things() -> None:
    def for_network(network: int) -> dict[str, float]:
        wanted = FIRST if network % 2 else SECOND
        return {c.sha256: 0.5 if c == wanted else 0.8 if c == THIRD else 1.1 for c in EVERY}

    known = []
    for network in range(4):
        ratios = for_network(network)
        known += experience(network, lambda c, ratios=ratios: ratios[c.sha256])  # type: ignore[misc]
    chosen = [candidate for candidate, _ in portfolio(peers_of(problem(known)), "mlp")]
    assert FIRST in chosen[:3]
    assert SECOND in chosen[:3]
    assert len(chosen) <= MOST


def test_each_tolerance_class_gets_its_best() -> None:
    known = []
    for network in range(3):
        known += experience(network, lambda c: 0.8 if c == FIRST else 1.1, [FIRST, THIRD])
        known += experience(network, lambda _: 0.3, [SECOND], tolerance="int8")
    chosen = [candidate for candidate, _ in portfolio(peers_of(problem(known)), "mlp")]
    assert chosen == [SECOND, FIRST]


def test_the_class_counts_alone_where_it_has_a_few_networks() -> None:
    known = []
    for network in range(3):
        known += experience(network, lambda c: 0.7 if c == FIRST else 1.1)
        known += experience(
            network + 10, lambda c: 0.2 if c == SECOND else 1.1, architecture_class="transformer"
        )
    ((candidate, expected),) = portfolio(peers_of(problem(known)), "mlp")
    assert candidate == FIRST
    assert expected == pytest.approx(0.7)
    of_all = [candidate for candidate, _ in portfolio(peers_of(problem(known)), "recurrent")]
    assert of_all[0] == SECOND


def test_nothing_is_proposed_where_nothing_beats_the_baseline() -> None:
    assert portfolio(peers_of(problem(experience(0, lambda _: 1.0))), "mlp") == []
    assert portfolio([], "mlp") == []


def test_likeness_of_structure_and_target_decide_what_a_network_counts() -> None:
    known = [
        *experience(1, embedding=(0.8, 0.6)),
        *experience(2),
        *experience(3, target="elsewhere"),
        *experience(4, embedding=()),
    ]
    peers = peers_of(problem(known))
    assert [peer.network for peer in peers] == ["network 2", "network 3", "network 1", "network 4"]
    assert peers[0].weight == pytest.approx(1)
    assert cosine((1.0, 0.0), (0.8, 0.6)) == pytest.approx(0.8)


def test_trials_of_one_candidate_are_one_and_a_failure_counts_where_nothing_else_came() -> None:
    known = experience(1, lambda _: 0.5, [FIRST]) + experience(1, lambda _: None, [FIRST, SECOND])
    (peer,) = peers_of(problem(known))
    values = {found.candidate.sha256: (found.value, found.failed) for found in peer.results}
    assert values == {
        FIRST.sha256: (pytest.approx(np.log(0.5)), False),
        SECOND.sha256: (WORST_LOG, True),
    }


SPACE = Space({"level": Choice(("low", "high")), "deep": Conditional("level", ("high",), Flag())})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"level": "high", "deep": True}, {"level": "high", "deep": True}),
        ({"level": "high"}, {"level": "high", "deep": False}),
        ({"level": "low", "deep": True, "more": 1}, {"level": "low"}),
        ({}, {"level": "low"}),
        ({"level": "other"}, None),
    ],
)
def test_candidates_of_other_spaces_become_members_of_this_one(
    options: dict[str, str | bool], expected: dict[str, str | bool] | None
) -> None:
    found = project(Candidate("x", dict(options)), {"x": SPACE})
    assert (found.options if found else None) == expected
    assert project(Candidate("gone", dict(options)), {"x": SPACE}) is None


def test_rank_correlation_is_spearmans() -> None:
    assert rank_correlation([(1, 10), (2, 20), (3, 400)]) == pytest.approx(1)
    assert rank_correlation([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1)
    assert rank_correlation([(1, 1), (1, 1), (2, 3), (4, 2)]) == pytest.approx(7 / 9)
    assert rank_correlation([(1, 1), (1, 2)]) == rank_correlation([(1, 2)]) == 0.0


def test_others_are_believed_until_they_are_wrong() -> None:
    assert is_trustworthy([(-1.0, 1.0), (0.0, 0.0), (1.0, -1.0)])
    assert not is_trustworthy([(-1.0, 1.0), (0.0, 0.0), (1.0, -1.0), (0.5, -0.5)])
    assert is_trustworthy([(-1.0, -0.9), (-0.9, -1.0), (-0.95, -0.85), (-0.85, -0.95)])


def test_ratios_become_cut_logarithms() -> None:
    assert value_of(None) == value_of(1e9) == WORST_LOG
    assert value_of(1.0) == 0


def test_the_option_that_goes_with_a_class_tells_the_class() -> None:
    # Columns: float32, int8, one thread, two threads.
    known = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0]], float)
    shares = class_shares(known, ["exact", "exact", "int8"], np.array([[0, 1, 0, 1.0]]))
    assert TOLERANCES[int(np.argmax(shares[0]))] == "int8"
    nothing = class_shares(np.zeros((0, 4)), [], np.array([[1.0, 0, 0, 1]]))
    assert nothing[0] == pytest.approx([0.25] * 4)


def test_a_peer_elsewhere_is_worth_less_than_the_same_one_here() -> None:
    here, elsewhere = experience(1), experience(1, target="elsewhere")
    assert peers_of(problem(elsewhere))[0].weight < peers_of(problem(here))[0].weight
    other = replace(problem(here), embedding=(0.0, 1.0))
    assert peers_of(other)[0].weight == 0
