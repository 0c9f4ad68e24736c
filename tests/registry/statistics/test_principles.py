"""Principles of planted searches, whose answer is known."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from hpcfair.traits import Trait
from registry.statistics.experience import METHOD, RevertedDecision, WorkloadTrials
from registry.statistics.principles import TraitFinding, evidence_for, findings
from tests.registry.analysis.schedules import SKETCH, decisions, drawn

UNROLL = Trait("unroll", "", 64)


def unrolled(decided: Any) -> bool:
    return bool(decided[1][1] >= 2)


def search(
    number: int, cost: Callable[[Any, random.Random], float], *, trials: int = 200,
    target: str = "x86-64-avx512", key: str = "",
) -> WorkloadTrials:  # fmt: skip
    """A random search, of trials whose times follow a formula of the decisions."""
    rng = random.Random(number)  # noqa: S311
    rows = [(SKETCH, each, cost(each, rng)) for each in (drawn(rng) for _ in range(trials))]
    return WorkloadTrials(f"w{number}", key or f"k{number}", f"conv{number}", target, rows)


def helps(decided: Any, rng: random.Random) -> float:
    return rng.lognormvariate(0, 0.3) * (0.5 if unrolled(decided) else 1.0)


def hurts(decided: Any, rng: random.Random) -> float:
    return rng.lognormvariate(0, 0.3) * (1.0 if unrolled(decided) else 0.5)


def nothing(_: Any, rng: random.Random) -> float:
    return rng.lognormvariate(0, 0.3)


def reverted(number: int, ratio: float = 1.5, *, key: str = "", best: int = 3) -> RevertedDecision:
    """An ablation of the unrolling: from the best value to 0, or from 0 to the last choice."""
    return RevertedDecision(
        f"a{number}", f"w{number}", key or f"k{number}", SKETCH,
        decisions(unroll=best), decisions(unroll=0 if best else 3), ratio, ratio * 0.9,
        ratio * 1.1, is_slower=ratio > 1,
    )  # fmt: skip


def of(trait: Trait, rows: list[TraitFinding]) -> TraitFinding:
    return next(each for each in rows if each.trait == trait)


def test_three_searches_and_two_ablations_prove_a_planted_principle() -> None:
    workloads = [search(number, helps) for number in range(3)]
    finding = of(UNROLL, findings(workloads, [reverted(0), reverted(1)]))
    assert finding.is_wanted
    assert finding.is_proven
    assert not finding.evidence["missing"]
    assert finding.evidence["support"] == {
        "workloads": 3, "targets": 1, "trials": 600, "ablations": 2
    }  # fmt: skip
    effect = finding.evidence["effect"]
    assert effect["ratio"] == pytest.approx(2, rel=0.2)
    assert effect["fast_share"] > 1.5 * effect["rest_share"]


def test_what_fast_schedules_avoid_is_a_principle_too() -> None:
    workloads = [search(number, hurts) for number in range(3)]
    ablations = [reverted(number, best=0) for number in range(2)]
    finding = of(UNROLL, findings(workloads, ablations))
    assert not finding.is_wanted
    assert finding.is_proven
    assert finding.evidence["effect"]["ratio"] == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize(
    ("workloads", "ablations", "missing"),
    [
        (2, 2, ["1 more workload"]),
        (3, 1, ["1 more ablation"]),
        (1, 0, ["2 more workloads", "2 more ablations"]),
    ],
)
def test_less_is_not_enough_and_says_what_is_missing(
    workloads: int, ablations: int, missing: list[str]
) -> None:
    searches = [search(number, helps) for number in range(workloads)]
    finding = of(UNROLL, findings(searches, [reverted(number) for number in range(ablations)]))
    assert not finding.is_proven
    assert finding.evidence["missing"] == missing


def test_one_workload_on_three_targets_counts_once() -> None:
    workloads = [
        search(number, helps, key="k", target=target)
        for number, target in enumerate(("x86-64-v2", "x86-64-v3", "x86-64-avx512"))
    ]
    finding = of(UNROLL, findings(workloads, [reverted(n, key="k") for n in range(2)]))
    assert finding.evidence["support"]["workloads"] == 1
    assert finding.evidence["support"]["targets"] == 3
    assert finding.evidence["support"]["ablations"] == 1


def test_ablations_that_show_the_opposite_speak_against_it() -> None:
    workloads = [search(number, helps) for number in range(3)]
    finding = of(UNROLL, findings(workloads, [reverted(0, 0.8), reverted(1, 0.8), reverted(2)]))
    assert not finding.is_proven
    assert finding.is_contradicted
    assert finding.evidence["against"]["ablations"] == 2
    assert "2 ablations show the opposite" in finding.evidence["missing"]


def test_workloads_that_show_the_opposite_are_counter_examples() -> None:
    workloads = [search(n, helps) for n in range(3)] + [search(n, hurts) for n in range(3, 5)]
    finding = of(UNROLL, findings(workloads, [reverted(0), reverted(1)]))
    against = [row for row in finding.evidence["workloads"] if row["direction"] == "against"]
    assert {row["workload"] for row in against} == {"w3", "w4"}
    assert not finding.is_proven


def test_an_ablation_of_another_decision_says_nothing() -> None:
    ablation = RevertedDecision(
        "a", "w0", "k0", SKETCH, decisions(), decisions(tile=[64, 1, 1, 1]), 2.0, 1.9, 2.1,
        is_slower=True,
    )  # fmt: skip
    finding = evidence_for(UNROLL, [search(0, helps)], [ablation], is_wanted=True)
    assert finding.evidence["ablations"] == []


def test_noise_proves_nothing() -> None:
    """20 operators with 4 workloads without any rule, and ablations of every unrolling."""
    proven = 0
    for number in range(20):
        workloads = [search(100 * number + each, nothing) for each in range(4)]
        ablations = [reverted(each) for each in range(4)]
        proven += sum(each.is_proven for each in findings(workloads, ablations))
    assert proven == 0


def test_few_trials_are_no_evidence() -> None:
    few = METHOD["least_trials"] - 1
    workloads = [search(number, helps, trials=few) for number in range(5)]
    assert findings(workloads, []) == []
