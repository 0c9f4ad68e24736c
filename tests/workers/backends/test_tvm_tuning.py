"""MetaSchedule in its children, on workloads of a tiny network."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest

from hpcfair.isolation.limits import Limits
from workers.backends.tvm.targets import target_of
from workers.backends.tvm.tuning.compiler import TvmSchedules
from workers.backends.tvm.tuning.handover import seconds_of, tasks_of
from workers.engine.errors import CandidateFailed
from workers.engine.schedules.stores import MemoryScheduleStore
from workers.engine.schedules.tune import tune_schedules
from workers.engine.schedules.types import ScheduleBudget, ScheduleResult, ScheduleTask
from workers.fleet.probe import this_machine
from workers.testing import networks

pytestmark = pytest.mark.slow

LIMITS = Limits(wall_s=600.0)
BUDGET = ScheduleBudget(seconds=None, trials=8, batch=4, candidates_to_confirm=2, rounds=2)
#: On a busy machine a schedule may look slow beside what it was the first time.
RAN = {"measured", "pruned"}


@dataclass(frozen=True)
class Tuned:
    """One short search, shared by all tests here."""

    tasks: list[ScheduleTask]
    store: MemoryScheduleStore
    compiler: TvmSchedules
    result: ScheduleResult

    @property
    def heaviest(self) -> ScheduleTask:
        return max(self.tasks, key=lambda task: task.flops)


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuned]:
    folder = tmp_path_factory.mktemp("tuning")
    for name in ("model", "apart", "scratch"):
        (folder / name).mkdir()
    here = this_machine().spec
    network = networks.write(networks.mlp(), folder / "model")
    tasks = tasks_of(network, here, limits=LIMITS, scratch=folder / "apart")
    store = MemoryScheduleStore(tasks)
    target = target_of(here)
    with TvmSchedules(
        target, limits=LIMITS, scratch=folder / "scratch", batch=BUDGET.batch
    ) as compiler:
        yield Tuned(tasks, store, compiler, tune_schedules(tasks, compiler, store, BUDGET))


def running_child(tuned: Tuned) -> int:
    child = tuned.compiler._run._child
    assert child is not None
    assert child._process is not None
    return child._process.pid


def test_a_network_falls_apart_into_workloads_with_what_identifies_them(tuned: Tuned) -> None:
    assert tuned.heaviest.anchor == "matmul"
    assert len({task.key for task in tuned.tasks}) == len(tuned.tasks)
    for task in tuned.tasks:
        assert len(task.key) == 64
        assert task.calls >= 1
        assert task.flops > 0
        assert len(task.features) == len(tuned.heaviest.features)


def test_workloads_say_what_their_blocks_and_loops_are_called(tuned: Tuned) -> None:
    (block,) = [each for each in tuned.heaviest.blocks if each["name"] == "matmul"]
    assert [axis["kind"] for axis in block["axes"]] == ["spatial", "spatial", "reduction"]
    assert {axis["extent"] for axis in block["axes"]} <= {
        size for argument in tuned.heaviest.arguments for size in argument["shape"]
    }
    names = {each["name"] for each in tuned.heaviest.blocks}
    assert all(set(each["consumers"]) <= names for each in tuned.heaviest.blocks)
    assert int(tuned.heaviest.structural_hash)
    assert tuned.heaviest.target["kind"] == "llvm"


def test_schedules_are_built_and_timed_without_a_linker(tuned: Tuned) -> None:
    trials = tuned.store.own_trials()
    assert 4 <= len(trials) <= 8
    measured = [trial for trial in trials if trial.result.outcome == "measured"]
    assert measured
    for trial in measured:
        assert len(trial.result.seconds) >= 3
        # The machine may have been busy with something else once.
        assert 0 < min(trial.result.seconds) < 1


def test_a_trial_is_a_sketch_with_its_decisions(tuned: Tuned) -> None:
    for trial in tuned.store.own_trials():
        kinds = [instruction[0] for instruction in trial.candidate.sketch]
        assert "EnterPostproc" not in kinds
        assert all(kinds[index].startswith("Sample") for index, _ in trial.candidate.decisions)


def test_the_winner_has_a_whole_trace_and_times_of_its_own(tuned: Tuned) -> None:
    assert tuned.result.improved
    for key in tuned.result.improved:
        winner = tuned.result.winners[key]
        assert len(winner.seconds) == BUDGET.rounds
        assert "EnterPostproc" in [instruction[0] for instruction in winner.trace[0]]


def test_a_schedule_that_does_not_fit_is_invalid_and_the_child_lives(tuned: Tuned) -> None:
    good = tuned.result.winners[tuned.result.improved[0]].candidate
    task = next(task for task in tuned.tasks if task.key == good.task)
    odd = replace(good, sketch=[["GetSBlock", [], ["nowhere", "main"], ["b0"]]], decisions=[])
    failed, measured = tuned.compiler.measure(task, [odd, good])
    assert failed.outcome == "invalid"
    assert "does not fit" in failed.detail
    assert measured.outcome in RAN


def test_a_child_killed_from_outside_is_nobodys_fault_and_replaced(tuned: Tuned) -> None:
    good = tuned.result.winners[tuned.result.improved[0]].candidate
    task = next(task for task in tuned.tasks if task.key == good.task)
    (before,) = tuned.compiler.measure(task, [good])
    assert before.outcome in RAN
    os.kill(running_child(tuned), signal.SIGKILL)
    spoilt, again = tuned.compiler.measure(task, [good, good])
    assert spoilt.outcome == "infrastructure"
    assert again.outcome in RAN


def test_what_a_dead_child_had_built_is_built_again(tuned: Tuned) -> None:
    task = tuned.heaviest
    outcomes = tuned.compiler.measure(task, tuned.compiler.propose(task, 3))
    assert next(outcomes).outcome in RAN
    process = running_child(tuned)
    os.kill(process, signal.SIGKILL)
    spoilt, again = outcomes
    assert spoilt.outcome == "infrastructure"
    assert again.outcome in RAN
    assert running_child(tuned) != process


def test_what_was_foreseen_is_proposed(tuned: Tuned) -> None:
    one, other = tuned.tasks[:2]
    tuned.compiler.foresee(other, 4)
    tuned.compiler.foresee(one, 4)
    foreseen = tuned.compiler._proposals[other.key].result()
    proposed = tuned.compiler.propose(other, 3)
    assert [candidate.decisions for candidate in proposed] == [
        candidate["decisions"] for candidate in foreseen[:3]
    ]
    assert {candidate.task for candidate in proposed} == {other.key}
    assert {candidate.task for candidate in tuned.compiler.propose(one, 4)} == {one.key}
    assert not {one.key, other.key} & tuned.compiler._proposals.keys()


def test_what_metaschedule_writes_for_a_failure_is_no_time() -> None:
    with pytest.raises(CandidateFailed, match="out of range"):
        seconds_of([1e10])
    for nonsense in ([], [0.0], [-1.0], [float("nan")], "fast", None):
        with pytest.raises(CandidateFailed):
            seconds_of(nonsense)


def test_a_source_that_is_no_workload_ends_nothing(tuned: Tuned) -> None:
    broken = replace(tuned.heaviest, key="0" * 64, source=np.zeros(8, np.uint8).tobytes())
    assert list(tuned.compiler.propose(broken, 4)) == []
    assert tuned.compiler.propose(tuned.heaviest, 4)
