"""The loop over schedules, on a compiler that is a formula."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.workers.engine.schedules.simulated import BEST, Clockwork, Simulated, task
from workers.engine.errors import InfrastructureFailed, LeaseLost
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleTrial

HEAVY = task("heavy", calls=8, flops=1e9)
LIGHT = task("light", calls=1, flops=1e6)
BUDGET = ScheduleBudget(seconds=None, trials=60, batch=4)


def test_the_best_schedule_is_found_and_kept() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated()
    result = tune_schedules([HEAVY], compiler, store, BUDGET)
    winner = result.winners[HEAVY.key]
    assert winner.candidate.decisions == BEST
    assert winner.trace == ["heavy", BEST]
    assert result.improved == (HEAVY.key,)
    assert store.history(HEAVY).winner == winner


def test_trials_go_where_the_network_gains_most() -> None:
    compiler = Simulated()
    tune_schedules([LIGHT, HEAVY], compiler, MemoryScheduleStore([LIGHT, HEAVY]), BUDGET)
    spent = Counter(name for name, _ in compiler.measured)
    assert spent["heavy"] > 5 * spent["light"]


def test_while_one_workload_is_measured_the_compiler_may_think_of_another() -> None:
    store, compiler = MemoryScheduleStore([LIGHT, HEAVY]), Simulated()
    tune_schedules([LIGHT, HEAVY], compiler, store, BUDGET)
    assert compiler.foreseen
    assert all(compiler.measured[at][0] != name for name, at in compiler.foreseen)
    alone = Simulated()
    tune_schedules([HEAVY], alone, MemoryScheduleStore([HEAVY]), BUDGET)
    assert not alone.foreseen


def test_a_workload_called_often_is_not_left_out_for_one_that_is_only_large() -> None:
    often, large = task("often", calls=50, flops=1e7), task("large", calls=1, flops=1e8)
    compiler = Simulated()
    tune_schedules([large, often], compiler, MemoryScheduleStore([large, often]), BUDGET)
    spent = Counter(name for name, _ in compiler.measured)
    assert spent["often"] > spent["large"] > 0


def test_no_more_trials_are_charged_than_the_budget_has() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated()
    result = tune_schedules([HEAVY], compiler, store, replace(BUDGET, trials=10))
    assert result.charged_trials == len(compiler.measured) <= 10
    assert result.stop_reason == "all 10 trials used"


def test_a_search_ends_with_its_time() -> None:
    clock = Clockwork()
    compiler = Simulated(clock)
    budget = replace(BUDGET, trials=None, seconds=10.0, patience=1000)
    result = tune_schedules([HEAVY], compiler, MemoryScheduleStore([HEAVY]), budget, clock=clock)
    assert result.stop_reason == "all 10 s used"
    # A batch under way is finished.
    assert clock.now <= 10.0 + 6 * 0.5


def test_no_schedule_is_measured_twice() -> None:
    compiler = Simulated()
    tune_schedules([HEAVY], compiler, MemoryScheduleStore([HEAVY]), replace(BUDGET, trials=90))
    assert max(Counter(compiler.measured).values()) == 1


def test_predictions_are_stored_as_they_were_before_the_model_learnt_the_outcome() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated()
    tune_schedules([HEAVY], compiler, store, BUDGET)
    # The first time each was thought of; later ones were thrown away unmeasured.
    first = dict(reversed(compiler.knew))
    assert all(decision not in first[decision] for _, decision in compiler.measured)
    predicted = [trial.candidate.predicted for trial in store.own_trials()]
    assert predicted[:4] == [None] * 4
    assert all(score is not None for score in predicted[4:])


def test_a_settled_workload_costs_no_trial() -> None:
    store = MemoryScheduleStore([HEAVY])
    budget = replace(BUDGET, enough=20)
    first = tune_schedules([HEAVY], Simulated(), store, budget)
    compiler = Simulated()
    again = tune_schedules([HEAVY], compiler, _Later(store), budget)
    assert compiler.measured == []
    assert again.charged_trials == 0
    assert again.stop_reason == "every workload is settled"
    assert again.winners == first.winners
    assert again.improved == ()


def test_without_gain_for_long_a_workload_is_settled() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated(shuffle=1)
    # From 0 on every decision gains until the best; then none does.
    budget = replace(BUDGET, trials=100, patience=8, noise=0.001, descent=0.0)
    result = tune_schedules([HEAVY], compiler, store, budget)
    assert result.stop_reason == "every workload is settled"
    assert BEST < result.charged_trials < 100


def test_an_interrupted_search_goes_on_where_it_stood() -> None:
    store, compiler = _Failing(MemoryScheduleStore([HEAVY]), after=11), Simulated()
    with pytest.raises(LeaseLost):
        tune_schedules([HEAVY], compiler, store, BUDGET)
    resumed = Simulated()
    result = tune_schedules([HEAVY], resumed, store.inner, BUDGET)
    before = {decision for _, decision in compiler.measured[:11]}
    assert before.isdisjoint(decision for _, decision in resumed.measured)
    assert result.charged_trials == 11 + len(resumed.measured) <= 60
    numbers = [trial.number for trial in store.inner.own_trials()]
    assert numbers == list(range(len(numbers)))
    assert set(resumed.learned[HEAVY.key]) >= before


def test_what_was_found_but_not_confirmed_is_confirmed_after_an_interruption() -> None:
    store = _Failing(MemoryScheduleStore([HEAVY]), after=60)
    budget = replace(BUDGET, trials=40)
    tune_schedules([HEAVY], Simulated(), store, budget)
    unconfirmed = MemoryScheduleStore([HEAVY])
    for trial in store.inner.own_trials():
        unconfirmed.add(trial)
    result = tune_schedules([HEAVY], Simulated(), unconfirmed, budget)
    assert result.improved == (HEAVY.key,)


def test_failures_of_the_machine_are_kept_but_not_charged_and_made_again() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated()
    compiler.spoil = 2
    result = tune_schedules([HEAVY], compiler, store, replace(BUDGET, trials=8))
    outcomes = [trial.result.outcome for trial in store.own_trials()]
    assert outcomes.count("infrastructure") == 2
    assert result.charged_trials == len(compiler.measured) == outcomes.count("measured")
    # The two that were spoilt had their turn.
    assert {0, 37} <= {decision for _, decision in compiler.measured}


def test_a_machine_that_fails_again_and_again_is_given_up() -> None:
    compiler = Simulated()
    compiler.spoil = 100
    with pytest.raises(InfrastructureFailed, match="no memory"):
        tune_schedules([HEAVY], compiler, MemoryScheduleStore([HEAVY]), BUDGET)


def test_a_schedule_that_crashes_is_charged_and_the_next_runs() -> None:
    store, compiler = MemoryScheduleStore([HEAVY]), Simulated()
    compiler.broken = {37, 74}
    result = tune_schedules([HEAVY], compiler, store, BUDGET)
    crashed = [trial for trial in store.own_trials() if trial.result.outcome == "crash"]
    assert {trial.candidate.decisions for trial in crashed} == {37, 74}
    assert result.winners[HEAVY.key].candidate.decisions == BEST


def test_where_nothing_runs_nothing_is_called_best() -> None:
    compiler = Simulated()
    compiler.broken = set(range(100))
    result = tune_schedules([HEAVY], compiler, MemoryScheduleStore([HEAVY]), BUDGET)
    assert result.winners == {}
    assert result.improved == ()


def test_similar_workloads_are_told_to_the_compiler_before_it_proposes() -> None:
    store = MemoryScheduleStore([HEAVY, LIGHT])
    tune_schedules([LIGHT], Simulated(), store, replace(BUDGET, trials=12))
    compiler = Simulated()
    tune_schedules([HEAVY], compiler, _Later(store), replace(BUDGET, trials=4))
    assert len(compiler.learned[LIGHT.key]) == 12


def test_yesterdays_best_is_timed_again_beside_todays() -> None:
    store = MemoryScheduleStore([HEAVY])
    tune_schedules([HEAVY], Simulated(), store, BUDGET)
    # Today two more are tried, both slower: the title stays where it was.
    result = tune_schedules([HEAVY], Simulated(), _Later(store), replace(BUDGET, trials=64))
    assert result.winners[HEAVY.key].candidate.decisions == BEST
    assert result.improved == ()


class _Later(MemoryScheduleStore):
    """The memory of earlier searches, seen by a new one."""

    def __init__(self, inner: MemoryScheduleStore) -> None:
        super().__init__(list(inner._tasks.values()))
        for trial in inner.own_trials():
            super().add(trial)
        for winner in inner._winners.values():
            self.confirm(winner)
        self._before = len(self._trials)

    def own_trials(self) -> tuple[ScheduleTrial, ...]:
        return tuple(self._trials[self._before :])


class _Failing(MemoryScheduleStore):
    """Loses the lease after some trials."""

    def __init__(self, inner: MemoryScheduleStore, after: int) -> None:
        super().__init__(list(inner._tasks.values()))
        self.inner = inner
        self._after = after

    def add(self, trial: ScheduleTrial) -> None:
        if len(self.inner.own_trials()) == self._after:
            raise LeaseLost("somebody else does this work now")
        self.inner.add(trial)
        super().add(trial)
