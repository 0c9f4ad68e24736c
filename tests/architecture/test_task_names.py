"""The registry sends tasks by name; the names must be those the workers answer to."""

from registry.dispatch import CHUNK, DELIVER, TASKS
from registry.states import JobKind
from workers import beat
from workers.app import app
from workers.device.kinds import WORK
from workers.jobs.run import HUB_WORK


def test_every_job_kind_has_a_task_that_workers_register() -> None:
    app.loader.import_default_modules()
    assert set(TASKS) == set(JobKind)
    assert {*TASKS.values(), DELIVER, CHUNK} <= set(app.tasks)


def test_every_periodic_job_is_a_task_that_workers_register() -> None:
    app.loader.import_default_modules()
    assert {entry["task"] for entry in beat.table().values()} <= set(app.tasks)


def test_every_job_kind_has_work_behind_it() -> None:
    assert {*HUB_WORK, *WORK} == {kind.value for kind in JobKind}
