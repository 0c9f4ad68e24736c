"""Schedules that are taken over from other targets."""

from typing import Any

import pytest

from hpcfair.tickets import JobTicket
from registry.errors import Invalid
from registry.selectors.analysis.crossapplication import cross_matrices, foreign_schedules
from registry.services.analysis.crossapplication import (
    cross_application_add,
    cross_submit,
    plan_cross_applications,
)
from registry.services.work.attempt import job_succeed
from registry.services.work.device import device_seen
from registry.services.work.operations import job_read, job_write
from registry.states import DeviceHealth, JobKind, Visibility
from registry.tables import CrossApplication, Device, MLModel, ScheduleTrial, Target, User
from tests.registry.analysis import workloads
from tests.registry.analysis.workloads import claim, comparison, searched

pytestmark = pytest.mark.django_db

WIDE, NARROW, EMULATED = "x86-64-avx512", "x86-64-v3", "x86-64-v3-emulated"
OTHER = [[2, [1, 4, 2, 8]], [3, 1]]


@pytest.fixture
def wide() -> ScheduleTrial:
    return searched()


@pytest.fixture
def narrow(wide: ScheduleTrial) -> ScheduleTrial:
    return searched(target=NARROW, decisions=OTHER)


def emulate() -> ScheduleTrial:
    trial = searched(target=EMULATED, decisions=OTHER)
    Target.objects.filter(slug=EMULATED).update(is_emulated=True)
    return trial


def submitted(task: Any, device: str = f"on-{WIDE}", target: str = WIDE) -> JobTicket:
    cross_submit(actor=None, task=task)
    return claim(JobKind.CROSS, device=device, target=target)


def add(
    ticket: JobTicket, source: ScheduleTrial, best: ScheduleTrial, ratio: float = 1.3
) -> CrossApplication:
    application = comparison(best, ratio) | {"source": str(source.uuid)}
    return cross_application_add(
        job_uuid=ticket.job_uuid, fence=ticket.fence, application=application
    )


def test_a_job_gets_the_best_schedules_of_other_targets(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    ticket = submitted(wide.task)
    (row,) = job_read(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        name="foreign_schedules_of_job",
        parameters={},
    )
    assert (row["trial"], row["target"]) == (str(narrow.uuid), NARROW)
    assert row["decisions"] == OTHER
    assert row["sketch"] == workloads.SKETCH


def test_a_result_is_stored_once_and_read_again(wide: ScheduleTrial, narrow: ScheduleTrial) -> None:
    ticket = submitted(wide.task)
    assert add(ticket, narrow, wide) == add(ticket, narrow, wide, ratio=9.0)
    (row,) = job_read(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        name="cross_applications_of_job",
        parameters={},
    )
    assert (row["source"], row["ratio"]) == (str(narrow.uuid), 1.3)
    assert row["digest"] == wide.digest


def test_what_a_device_cannot_have_measured_is_refused(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    ticket = submitted(wide.task)
    application = comparison(wide) | {"source": str(narrow.uuid), "seconds": [0.5] * 12}
    with pytest.raises(Invalid) as refused:
        job_write(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            name="cross_application_add",
            columns={"application": application},
            device=Device.objects.get(name=ticket.device),
        )
    assert "ratio" in refused.value.fields


def test_only_the_best_of_other_targets_are_taken_over(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    ticket = submitted(wide.task)
    with pytest.raises(Invalid):
        add(ticket, wide, wide)


def test_emulated_machines_are_never_compared_with_real_ones(wide: ScheduleTrial) -> None:
    emulated = emulate()
    emulated.task.target.refresh_from_db()
    assert foreign_schedules(wide.task) == []
    assert foreign_schedules(emulated.task) == []
    with pytest.raises(Invalid, match="No other target"):
        cross_submit(actor=None, task=wide.task)


def test_the_matrix_has_the_newest_result_of_each_pair(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    for ratio in (1.3, 1.2):
        ticket = submitted(wide.task)
        add(ticket, narrow, wide, ratio)
        job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    (matrix,) = cross_matrices(None, wide.task)
    assert matrix.targets == [WIDE, NARROW]
    assert {pair: row.ratio for pair, row in matrix.cells.items()} == {(NARROW, WIDE): 1.2}
    assert cross_matrices(None, narrow.task) == [matrix]


def test_readers_see_what_they_may(wide: ScheduleTrial, narrow: ScheduleTrial) -> None:
    add(submitted(wide.task), narrow, wide)
    eve = User.objects.create(username="eve")
    assert cross_matrices(eve, wide.task)
    MLModel.objects.update(visibility=Visibility.PRIVATE)
    assert cross_matrices(eve, wide.task) == []
    assert cross_matrices(User.objects.get(username="alice"), wide.task)


def test_a_schedule_of_a_private_search_is_not_shown(wide: ScheduleTrial) -> None:
    secret = searched("bob/secret", private=True, target=NARROW, decisions=OTHER)
    add(submitted(wide.task), secret, wide)
    assert cross_matrices(User.objects.get(username="alice"), wide.task) == []


def test_they_are_planned_on_every_target_with_a_schedule_once(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    assert narrow.job is not None
    for device in Device.objects.all():
        device_seen(device=device)
    planned = plan_cross_applications(job_uuid=str(narrow.job.uuid))
    assert [job.target.slug for job in planned if job.target] == [WIDE, NARROW]
    assert plan_cross_applications(job_uuid=str(narrow.job.uuid)) == []
    ticket = claim(JobKind.CROSS)
    add(ticket, narrow, wide)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"summary": "done"})
    assert plan_cross_applications(job_uuid=str(narrow.job.uuid)) == []


def test_without_another_target_none_is_planned(wide: ScheduleTrial) -> None:
    assert wide.job is not None
    assert plan_cross_applications(job_uuid=str(wide.job.uuid)) == []


def test_they_are_planned_for_a_device_that_is_never_online(
    wide: ScheduleTrial, narrow: ScheduleTrial
) -> None:
    assert wide.job is not None
    Device.objects.update(health=DeviceHealth.OFFLINE)
    planned = plan_cross_applications(job_uuid=str(wide.job.uuid))
    assert [job.target.slug for job in planned if job.target] == [WIDE]
