"""The reaper: expired leases, notifications that got lost, silent devices."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry import dispatch
from registry.errors import Conflict
from registry.selectors.work.job import events_of
from registry.services.work import reaper
from registry.services.work.attempt import job_claim, job_fail, job_heartbeat
from registry.services.work.device import device_seen
from registry.services.work.flow import run_limit_s
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.reaper import job_reap
from registry.states import DeviceHealth, FailureClass, JobKind, JobState
from registry.tables import Device, Job
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def notified(monkeypatch: pytest.MonkeyPatch) -> list[Job]:
    """Jobs that workers are notified of; ``test_dispatch`` sends to a real broker."""
    jobs: list[Job] = []
    monkeypatch.setattr(dispatch, "notify", jobs.append)
    return jobs


def expire(**columns: Any) -> None:
    Job.objects.filter(**columns).update(lease_until=timezone.now() - timedelta(seconds=1))


def age_notifications(seconds: float) -> None:
    Job.objects.update(notified_at=timezone.now() - timedelta(seconds=seconds))


def test_a_lease_that_ran_out_puts_the_job_back(floor: Floor, notified: list[Job]) -> None:
    job = floor.tune()
    ticket = floor.claim()
    expire()
    notified.clear()
    assert job_reap() == 1
    job.refresh_from_db()
    assert (job.state, job.attempt, job.device) == (JobState.QUEUED, 1, None)
    assert notified == [job]
    with pytest.raises(Conflict):
        job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
    assert floor.claim().attempt == 2


def test_soon_after_a_start_of_the_hub_leases_do_not_end(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    expire()
    assert job_reap(ends_leases=False) == 0
    job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
    assert job_reap() == 0
    job.refresh_from_db()
    assert (job.state, job.fence) == (JobState.LEASED, ticket.fence)


def test_a_lease_that_holds_is_left_alone(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    assert job_reap() == 0
    assert not job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence).cancel


def test_a_late_heartbeat_saves_a_lease_not_yet_reaped(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    expire()
    job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
    assert job_reap() == 0


def test_a_heartbeat_between_look_and_grip_saves_the_lease(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = floor.tune()
    ticket = floor.claim()
    expire()
    grip = reaper._reap

    def beaten(pk: int) -> bool:
        job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
        return grip(pk)

    monkeypatch.setattr(reaper, "_reap", beaten)
    assert job_reap() == 0
    job.refresh_from_db()
    assert job.state == JobState.LEASED


def test_a_job_interrupted_too_often_fails(floor: Floor) -> None:
    job = floor.tune()
    for _ in range(job.max_attempts):
        floor.claim()
        expire()
        assert job_reap() == 1
    job.refresh_from_db()
    assert (job.state, job.failure_code) == (JobState.FAILED, "job_interrupted")
    assert job.failure_class == FailureClass.INFRASTRUCTURE
    assert "attempt 3 went silent" in [event.message for event in events_of(job)][-1]


def test_a_cancelled_job_whose_worker_went_silent_ends(floor: Floor) -> None:
    job = floor.tune()
    floor.claim()
    job_cancel(actor=None, job=job)
    expire()
    assert job_reap() == 1
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_workers_are_notified_again_of_a_queued_job_once_a_minute(
    floor: Floor, notified: list[Job]
) -> None:
    job = floor.tune()
    notified.clear()
    job_reap()
    assert notified == []
    age_notifications(61)
    job_reap()
    job_reap()
    assert notified == [job]


def test_a_long_queue_gets_a_few_notifications_for_each_kind_and_target(
    floor: Floor, notified: list[Job]
) -> None:
    jobs = [shopfloor.floor(f"bob/{number}").tune(priority=number) for number in range(7)]
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    notified.clear()
    age_notifications(61)
    job_reap()
    assert inspection in notified
    assert [job for job in notified if job != inspection] == jobs[:4]


def test_no_notification_is_sent_where_no_device_is_online(
    floor: Floor, notified: list[Job]
) -> None:
    job = floor.tune()
    notified.clear()
    age_notifications(61)
    Device.objects.update(last_seen_at=timezone.now() - timedelta(days=1))
    job_reap()
    assert notified == []
    floor.device.refresh_from_db()
    device_seen(device=floor.device)
    job_reap()
    assert notified == [job]


def test_after_a_pause_the_next_reaping_notifies(
    floor: Floor, notified: list[Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first pause is two seconds, which a busy machine may take for what follows.
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    job = floor.tune()
    ticket = floor.claim()
    notified.clear()
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=FailureClass.INFRASTRUCTURE,
        code="internal_error",
        detail="",
    )
    job_reap()
    assert notified == []
    job.refresh_from_db()
    assert job.not_before is not None
    Job.objects.update(
        not_before=job.not_before - timedelta(seconds=3),
        notified_at=job.notified_at - timedelta(seconds=3),
    )
    job_reap()
    assert notified == [job]
    assert job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG)


def test_reaping_looks_after_devices(floor: Floor) -> None:
    floor.device.last_seen_at = timezone.now() - timedelta(days=1)
    floor.device.save()
    job_reap()
    floor.device.refresh_from_db()
    assert floor.device.health == DeviceHealth.OFFLINE


def run_for(ticket: JobTicket, seconds: float) -> None:
    """Move the begin of a job's execution back, and renew its lease."""
    begun = timezone.now() - timedelta(seconds=seconds)
    Job.objects.filter(uuid=ticket.job_uuid).update(running_since=begun)


def test_a_job_beyond_its_time_limit_is_ended(floor: Floor) -> None:
    job = floor.tune(parameters={"budget_s": 60})
    ticket = floor.claim()
    run_for(ticket, run_limit_s(60.0) - 5)
    job_reap()
    job.refresh_from_db()
    assert job.state == JobState.LEASED
    run_for(ticket, run_limit_s(60.0) + 5)
    job_reap()
    job.refresh_from_db()
    assert (job.state, job.failure_code) == (JobState.FAILED, "job_timeout")
    with pytest.raises(Conflict):
        job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)


def test_the_time_before_the_execution_is_not_limited(floor: Floor) -> None:
    job = floor.tune()
    floor.claim()
    long_ago = timezone.now() - timedelta(days=30)
    Job.objects.update(created_at=long_ago, started_at=long_ago, notified_at=long_ago)
    job_reap()
    job.refresh_from_db()
    assert job.state == JobState.LEASED
