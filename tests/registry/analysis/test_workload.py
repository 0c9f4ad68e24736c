"""Who sees which workloads, and what the trials of one say."""

import io
import json
import tarfile
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Invalid, NotFound
from registry.selectors.analysis.alignedschedules import aligned
from registry.selectors.analysis.evidence import (
    evidence_of,
    failures_of,
    map_of,
    peers_of,
    pooled,
    rounds_of,
)
from registry.selectors.analysis.workload import (
    order_of,
    uses_of,
    workload_get,
    workloads_of,
)
from registry.selectors.analysis.workloadexport import document_of, tvm_database
from registry.selectors.analysis.workloadoutcome import outcome_of, rivals_of
from registry.selectors.analysis.workloadsearch import search_of
from registry.selectors.work.job import job_names
from registry.statistics.noise import Likeness
from registry.tables import Job, ScheduleTask, ScheduleUse
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_search, add_trials, add_workload, planted
from tests.registry.shopfloor import Floor
from tests.registry.traces.recorded import recorded

pytestmark = pytest.mark.django_db

ANYBODY = AnonymousUser()


@pytest.fixture
def floor(data_dir: Any) -> Floor:
    return shopfloor.floor()


@pytest.fixture
def task(floor: Floor) -> ScheduleTask:
    return add_search(floor, "conv-search")


def test_a_workload_of_a_private_model_is_not_there_for_others(data_dir: Any) -> None:
    private = shopfloor.floor("alice/secret", private=True)
    task = add_search(private, "dense-search")
    assert workload_get(private.alice, str(task.uuid)) == task
    assert list(workloads_of(private.alice)) == [task]
    with pytest.raises(NotFound):
        workload_get(ANYBODY, str(task.uuid))
    assert not workloads_of(ANYBODY).exists()
    assert uses_of(ANYBODY, task) == []


def test_a_shared_workload_names_no_private_model_or_job(floor: Floor, task: ScheduleTask) -> None:
    private = shopfloor.floor("bob/secret", private=True)
    ScheduleUse.objects.create(task=task, graph_hash="5" * 64, calls=9)
    private.graph.graph_hash = "5" * 64
    private.graph.save()
    add_trials(task, recorded("conv-search").sketches, recorded("conv-search").trials[:3], None)
    hidden = private.tune()
    task.trials.filter(job=None).update(job=hidden)
    assert [use.mlmodel.full_name for use in uses_of(ANYBODY, task)] == ["alice/squeezenet"]
    assert {use.mlmodel.full_name for use in uses_of(private.alice, task)} == {
        "alice/squeezenet",
        "bob/secret",
    }
    jobs = job_names(ANYBODY, [trial.job for trial in search_of(task).trials])
    assert jobs[hidden.pk] == ("another job", "")
    document = json.dumps(document_of(task, search_of(task), "https://hub/workloads/1"))
    assert "secret" not in document
    assert str(hidden.uuid) not in document


def test_workloads_are_found_by_target_and_name(floor: Floor, task: ScheduleTask) -> None:
    other = add_search(shopfloor.floor("alice/other"), "dense-search", key="d" * 64)
    assert list(workloads_of(ANYBODY, query="CONV2D")) == [task]
    assert list(workloads_of(ANYBODY, target="riscv64")) == []
    rows = {row.pk: row for row in workloads_of(ANYBODY, target=floor.target.slug)}
    assert rows[task.pk].trial_count == task.trials.count()
    assert rows[other.pk].best_s == min(
        row.median_s for row in other.trials.exclude(median_s=None) if row.median_s
    )
    assert order_of("flops") == ("-flops", "-id")
    with pytest.raises(Invalid):
        order_of("luck")


def test_the_outcome_is_that_of_the_rows(task: ScheduleTask) -> None:
    search = search_of(task)
    outcome = outcome_of(search)
    confirmed = task.trials.get(confirmed_at__isnull=False)
    assert outcome.best is not None
    assert outcome.best.uuid == str(confirmed.uuid)
    assert outcome.best_s == confirmed.confirmed_s
    assert outcome.end.trials == task.trials.count()
    assert outcome.duration_s == pytest.approx(sum(row.duration_s for row in task.trials.all()))
    assert rivals_of(ANYBODY, task) == []


def test_new_trials_are_seen_at_once(task: ScheduleTask) -> None:
    before = search_of(task)
    assert search_of(task) is before
    add_trials(task, recorded("conv-search").sketches, recorded("conv-search").trials[:2], None)
    assert len(search_of(task).trials) == len(before.trials) + 2


def test_a_planted_decision_is_what_the_evidence_names(floor: Floor) -> None:
    task = add_workload(floor, recorded("conv-random"))
    add_trials(task, recorded("conv-random").sketches, planted(), Job.objects.latest("pk"))
    search = search_of(task)
    evidence = evidence_of(search)
    strongest = evidence.evident[0]
    column = evidence.columns[strongest.column]
    assert (column.title, column.labels[strongest.code]) == ("inner width of ff", "16")
    assert evidence.among == 400
    model = pooled(search)
    assert model is not None
    assert (model.correlation or 0) > 0.5
    assert sum(one.trials for one in rounds_of(search)) == 400
    assert map_of(search) is not None


def test_sixty_noisy_trials_are_no_evidence_of_what_is_not_there(floor: Floor) -> None:
    task = add_workload(floor, recorded("conv-random"))
    trials = [{**one, "seconds": [1e-3 * (1 + at * 37 % 61 / 61)] * 5}
              for at, one in enumerate(planted(61))]  # fmt: skip
    add_trials(task, recorded("conv-random").sketches, trials, Job.objects.latest("pk"))
    assert evidence_of(search_of(task)).evident == []


def test_sentinel_times_are_no_times(floor: Floor) -> None:
    task = add_workload(floor, recorded("conv-random"))
    trials = planted(12)
    trials[3] = {**trials[3], "seconds": [1e10]}
    trials[4] = {**trials[4], "seconds": [], "outcome": "timeout", "failure_detail": "60 s"}
    add_trials(task, recorded("conv-random").sketches, trials, Job.objects.latest("pk"))
    search = search_of(task)
    assert len(search.timed) == 10
    assert {(kind, count) for kind, count, _ in failures_of(search)} == {
        ("no valid time", 1),
        ("timeout", 1),
    }
    assert evidence_of(search).among == 10
    assert max(trial.time_s or 0 for trial in search.timed) < 1


def test_equals_of_the_best_are_told_from_slower_ones(floor: Floor) -> None:
    task = add_workload(floor, recorded("conv-random"))
    trials = planted(6)
    for trial, middle in zip(trials, (1.0, 1.001, 1.002, 1.3, 1.4, 2.0), strict=True):
        trial["seconds"] = [middle * (1 + 0.005 * step) for step in (-2, -1, 0, 1, 2)]
    trials[2]["seconds"] = [0.9, 1.6, 1.1, 0.95, 1.7]
    add_trials(task, recorded("conv-random").sketches, trials, Job.objects.latest("pk"))
    verdicts = {peer.trial.position: peer.likeness for peer in peers_of(search_of(task))}
    assert verdicts[1] == Likeness.EQUAL
    assert verdicts[2] == Likeness.UNDECIDED
    assert {verdicts[at] for at in (3, 4, 5)} == {Likeness.SLOWER}


def test_schedules_of_several_sketches_are_aligned(task: ScheduleTask) -> None:
    search = search_of(task)
    side_by_side = aligned(search, 8)
    assert side_by_side is not None
    sketches = {trial.sketch for trial in side_by_side.trials}
    for number, trial in enumerate(side_by_side.trials):
        steps = search.sketches[trial.sketch].steps(trial.decisions)
        own = [(row.kind, row.cells[number]) for row in side_by_side.rows if row.cells[number]]
        assert own == [step for step in steps if step[1]]
    assert side_by_side.prefix >= 4
    assert side_by_side.differing or len(sketches) == 1


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_search_of_hardly_any_trials_has_nothing_to_say(floor: Floor, count: int) -> None:
    task = add_workload(floor, recorded("conv-random"))
    add_trials(task, recorded("conv-random").sketches, planted(count), Job.objects.latest("pk"))
    search = search_of(task)
    assert evidence_of(search).evident == []
    assert map_of(search) is None
    assert (aligned(search) is None) == (count < 2)
    assert (outcome_of(search).best is None) == (count == 0)


def test_only_failures_are_no_search(floor: Floor) -> None:
    task = add_workload(floor, recorded("conv-random"))
    trials = [{**one, "seconds": [], "outcome": "crash", "failure_detail": "x"}
              for one in planted(9)]  # fmt: skip
    add_trials(task, recorded("conv-random").sketches, trials, Job.objects.latest("pk"))
    search = search_of(task)
    assert search.best is None
    assert failures_of(search) == [("crash", 9, [("x", 9)])]
    assert pooled(search) is None
    assert peers_of(search) == []


def test_a_workload_of_an_earlier_version_has_no_database_of_tvm(floor: Floor) -> None:
    task = add_search(floor, "conv-search", most=5)
    search = search_of(task)
    archive = tvm_database(task, search, document_of(task, search, ""))
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        assert "database_workload.json" in files.getnames()
    task.structural_hash = ""
    with pytest.raises(NotFound, match="before the hub"):
        tvm_database(task, search, document_of(task, search, ""))
