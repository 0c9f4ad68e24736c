"""The trials of a workload in the memory of a process: read once, and extended as they come."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from registry.selectors.analysis.evidence import evidence_of
from registry.selectors.analysis.workloadsearch import WorkloadSearch, search_of
from registry.tables import Job, ScheduleTask, ScheduleTrial
from tests.registry import shopfloor
from tests.registry.analysis.recordedsearches import add_trials, add_workload, planted
from tests.registry.traces.recorded import recorded

pytestmark = pytest.mark.django_db


@pytest.fixture
def task(data_dir: Any) -> ScheduleTask:
    return add_workload(shopfloor.floor(), recorded("conv-random"))


def extend(task: ScheduleTask, count: int) -> list[ScheduleTrial]:
    sketches = recorded("conv-random").sketches
    return add_trials(task, sketches, planted(count), Job.objects.latest("pk"))


def facts(search: WorkloadSearch) -> list[tuple[int, str, float | None, float | None]]:
    return [(one.position, one.uuid, one.time_s, one.confirmed_s) for one in search.trials]


def anew(task: ScheduleTask) -> list[tuple[int, str, float | None, float | None]]:
    rows = ScheduleTrial.objects.filter(task=task).order_by("pk")
    return [(at, str(row.uuid), row.median_s, row.confirmed_s) for at, row in enumerate(rows)]


def test_a_search_is_read_once_and_its_analyses_are_kept(task: ScheduleTask) -> None:
    extend(task, 40)
    first = search_of(task)
    assert search_of(task) is first
    assert evidence_of(first, 0.1) is evidence_of(first, 0.1)
    assert evidence_of(first, 0.1) is not evidence_of(first, 0.2)
    assert evidence_of(first, 0.1, "random").among == 40


def test_of_a_search_that_goes_on_only_new_trials_are_read(task: ScheduleTask) -> None:
    extend(task, 40)
    before = search_of(task)
    extend(task, 3)
    with CaptureQueriesContext(connection) as queries:
        after = search_of(task)
    (read,) = [
        one["sql"] for one in queries if "duration_s" in one["sql"] and '"id" >' in one["sql"]
    ]
    assert str(before.trials[-1].key) in read
    assert facts(after) == anew(task)
    assert after.trials[:40] == before.trials
    assert len(before.trials) == 40


def test_confirmed_trials_are_read_again(task: ScheduleTask) -> None:
    rows = extend(task, 20)
    assert search_of(task).best is not None
    ScheduleTrial.objects.filter(pk=rows[7].pk).update(
        confirmed=[1e-3], confirmed_s=1e-3, confirmed_at=timezone.now()
    )
    search = search_of(task)
    assert facts(search) == anew(task)
    assert search.best is search.trials[7]


def test_after_a_deletion_all_are_read_again(task: ScheduleTask) -> None:
    rows = extend(task, 20)
    assert len(search_of(task).trials) == 20
    extend(task, 2)
    ScheduleTrial.objects.filter(pk=rows[3].pk).delete()
    assert facts(search_of(task)) == anew(task)
