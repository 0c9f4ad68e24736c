"""Ablations of planted schedules, whose answer is known."""

from statistics import mean

import pytest

from tests.workers.engine.schedules.planted import Kept, Planted, candidate, reverted
from tests.workers.engine.schedules.simulated import task
from workers.engine.errors import InfrastructureFailed, ReferenceFailed
from workers.engine.schedules.ablation import (
    CONTROL,
    AblationBudget,
    AblationResult,
    ablate,
)
from workers.engine.schedules.crossapplication import ForeignSchedule, cross_apply
from workers.engine.schedules.types import Winner

TASK = task("conv")
BEST = candidate(TASK, 8, 16, 64, 1)
WINNER = Winner(BEST, (1e-3,) * 6, [])
REVERSALS = [reverted(BEST, position, 0) for position in range(4)]


def second_matters(decided: list[int]) -> float:
    """Reverting the second decision costs 1.8x; the others do nothing."""
    return 1e-3 if decided[1] == 16 else 1.8e-3


def run(compiler: Planted, store: Kept | None = None, **budget: float) -> AblationResult:
    return ablate(
        TASK, WINNER, REVERSALS, compiler, store or Kept(), AblationBudget(**budget),
        clock=compiler.clock,
    )  # fmt: skip


def verdicts(result: AblationResult) -> dict[int, str]:
    return {each.reversal.position: each.result.verdict for each in result.measured}


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_the_decision_that_matters_is_named_with_its_size(drift: float) -> None:
    result = run(Planted(second_matters, noise=0.05, drift=drift))
    named = [each for each in result.measured if each.result.verdict == "slower"]
    assert [each.reversal.position for each in named] == [1]
    ratio = named[0].result.ratio
    assert ratio is not None
    assert ratio.low <= 1.8 * 1.03
    assert ratio.high >= 1.8 / 1.03
    assert ratio.value == pytest.approx(1.8, rel=0.1)
    assert result.stop_reason == "every decision was reverted"
    assert result.winner is None


def test_noise_is_not_taken_for_an_effect() -> None:
    """Of 40 ablations without any effect, 200 comparisons, at most one names something."""
    named = 0
    for seed in range(40):
        result = run(Planted(lambda _: 1e-3, noise=0.15, seed=seed))
        named += sum(verdict in {"slower", "faster"} for verdict in verdicts(result).values())
    assert named <= 1


def test_the_control_measures_the_noise_of_the_machine() -> None:
    ratios = []
    for seed in range(10):
        control = run(Planted(second_matters, noise=0.1, seed=seed)).measured[0]
        assert control.reversal.position == CONTROL
        assert control.result.ratio is not None
        ratios.append(control.result.ratio.value)
    assert mean(ratios) == pytest.approx(1, abs=0.05)


def test_all_raw_times_are_stored_in_pairs() -> None:
    for each in run(Planted(second_matters, noise=0.05), rounds=6).measured:
        count = len(each.result.seconds)
        assert count == len(each.result.best_seconds)
        assert count in {6, 12}


def test_a_small_effect_is_measured_a_second_time() -> None:
    clear, small = Planted(second_matters), Planted(lambda d: 1e-3 if d[1] == 16 else 1.1e-3)
    assert verdicts(run(clear))[1] == verdicts(run(small))[1] == "slower"
    assert small.raced == clear.raced + 1


def test_a_variant_that_fails_is_a_result_and_the_rest_is_measured() -> None:
    compiler = Planted(lambda d: "invalid" if d[0] == 0 else second_matters(d))
    result = run(compiler)
    failed = next(each for each in result.measured if each.reversal.position == 0)
    assert (failed.result.outcome, failed.result.detail) == ("invalid", "as planted")
    assert failed.result.ratio is None
    assert verdicts(result)[1] == "slower"


def test_a_variant_that_takes_ages_is_timed_once() -> None:
    result = run(Planted(lambda d: 5.0 if d[2] == 0 else 1e-3))
    slow = next(each for each in result.measured if each.reversal.position == 2)
    assert (slow.result.outcome, slow.result.verdict) == ("pruned", "slower")
    assert slow.result.ratio is not None
    assert slow.result.ratio.value == pytest.approx(5000)


def test_a_better_variant_becomes_a_trial_and_the_best_schedule() -> None:
    store = Kept()
    result = run(Planted(lambda d: 0.8e-3 if d[3] == 0 else 1e-3, noise=0.02), store)
    assert verdicts(result)[3] == "faster"
    assert [each.decisions[3][1] for each in store.offered] == [0]
    assert store.offered[0].proposed_by == "ablation"
    assert store.winners == [result.winner]
    assert result.winner is not None
    assert result.winner.trace == ["conv", REVERSALS[3].candidate.decisions]


def test_what_only_looked_better_is_not_confirmed() -> None:
    """The variant is faster until it would be confirmed, as the luckiest of many is."""
    compiler = Planted(lambda d: 0.7e-3 if d[3] == 0 and compiler.raced < 6 else 1e-3)
    store = Kept()
    result = run(compiler, store)
    assert verdicts(result)[3] == "faster"
    assert store.offered
    assert result.winner is None
    assert not store.winners


def test_an_ablation_ends_with_its_time_and_continues_where_it_stopped() -> None:
    store, compiler = Kept(), Planted(second_matters)
    first = run(compiler, store, seconds=2.0)
    assert first.stop_reason == "all 2 s used, 2 variants left"
    again = Planted(second_matters)
    second = run(again, store)
    assert len(again.built) == 2
    assert [each.number for each in second.measured] == [0, 1, 2, 3, 4]
    assert len({each.reversal.position for each in second.measured}) == 5


def test_a_best_schedule_that_does_not_run_ends_the_ablation() -> None:
    with pytest.raises(ReferenceFailed, match="conv"):
        run(Planted(lambda _: "crash"))


def test_a_machine_that_fails_again_and_again_is_given_up() -> None:
    compiler = Planted(lambda d: "infrastructure" if d[1] == 0 else 1e-3)
    with pytest.raises(InfrastructureFailed):
        run(compiler)


def test_foreign_schedules_are_compared_with_the_best_here() -> None:
    store = Kept()
    foreign = [
        ForeignSchedule("t1", "x86-64-v3", candidate(TASK, 8, 0, 64, 1)),
        ForeignSchedule("t2", "x86-64-v2", BEST),
        ForeignSchedule("t3", "arm64", candidate(TASK, 0, 16, 64, 1)),
    ]

    def cost(decided: list[int]) -> float | str:
        return "invalid" if decided[0] == 0 else second_matters(decided)

    compiler = Planted(cost, noise=0.02)
    applied, winner = cross_apply(
        TASK, WINNER, foreign, compiler, store, AblationBudget(), clock=compiler.clock
    )
    assert [each.result.verdict for each in applied] == ["slower", "same", "unstable"]
    assert applied[2].result.outcome == "invalid"
    assert winner is None
    again = Planted(cost)
    cross_apply(TASK, WINNER, foreign, again, store, AblationBudget(), clock=again.clock)
    assert not again.built


def test_a_foreign_schedule_that_is_faster_becomes_the_best_here() -> None:
    store = Kept()
    foreign = [ForeignSchedule("t1", "x86-64-v3", candidate(TASK, 4, 16, 64, 1))]
    compiler = Planted(lambda d: 1e-3 if d[0] == 8 else 0.5e-3)
    _, winner = cross_apply(
        TASK, WINNER, foreign, compiler, store, AblationBudget(), clock=compiler.clock
    )
    assert winner is not None
    assert store.winners == [winner]
