"""Each claim of a job is a row with its wait, its device and how it ended."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.selectors.work import jobattempt as selector
from registry.selectors.work.jobattempt import attempts_of, utilisation
from registry.services.work.attempt import (
    job_fail,
    job_release,
    job_succeed,
    job_yield,
)
from registry.services.work.job import job_cancel
from registry.services.work.jobattempt import attempt_end
from registry.services.work.reaper import job_reap
from registry.states import AttemptEnd, DeviceState, FailureClass, JobKind
from registry.tables import Device, Job, JobAttempt
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def held(ticket: JobTicket) -> dict[str, Any]:
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def ends() -> list[tuple[str, str]]:
    return list(JobAttempt.objects.order_by("id").values_list("end", "failure_class"))


def test_a_claim_is_a_row_with_its_wait(floor: Floor) -> None:
    job = floor.tune()
    Job.objects.update(notified_at=timezone.now() - timedelta(seconds=90))
    floor.claim()
    (attempt,) = attempts_of(floor.device)
    assert (attempt.job, attempt.fence, attempt.target) == (job, 1, floor.target)
    assert (attempt.account, attempt.level, attempt.end, attempt.ended_at) == (
        floor.alice,
        0,
        "",
        None,
    )
    assert 90 <= attempt.wait_s < 120


def test_a_pause_does_not_count_as_waiting(floor: Floor) -> None:
    floor.tune()
    now = timezone.now()
    Job.objects.update(
        notified_at=now - timedelta(seconds=90), not_before=now - timedelta(seconds=5)
    )
    floor.claim()
    assert 5 <= JobAttempt.objects.get().wait_s < 30


def test_success_ends_an_attempt_once(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    job_succeed(**held(ticket), result={})
    ended_at = JobAttempt.objects.get().ended_at
    job_succeed(**held(ticket), result={})
    attempt_end(Job.objects.get(), AttemptEnd.LOST, FailureClass.INFRASTRUCTURE)
    assert ends() == [("succeeded", "")]
    assert JobAttempt.objects.get().ended_at == ended_at


@pytest.mark.parametrize(
    ("failure_class", "code"),
    [(FailureClass.CRASH, "job_interrupted"), (FailureClass.INFRASTRUCTURE, "job_interrupted")],
)
def test_a_failure_has_its_class(floor: Floor, failure_class: FailureClass, code: str) -> None:
    floor.tune()
    ticket = floor.claim()
    job_fail(**held(ticket), failure_class=failure_class, code=code, detail="it fell over")
    assert ends() == [("failed", failure_class)]


def test_a_lost_lease_a_release_and_a_yield_differ(floor: Floor) -> None:
    floor.tune()
    floor.claim()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    job_release(**held(floor.claim()))
    job_yield(**held(floor.claim()))
    floor.claim()
    assert ends() == [("lost", "infrastructure"), ("released", ""), ("released", ""), ("", "")]
    assert [attempt.fence for attempt in attempts_of(floor.device).order_by("id")] == [1, 2, 3, 4]


def test_a_cancelled_job_cancels_its_attempt(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    job_cancel(actor=None, job=job)
    job_release(**held(ticket))
    assert ends() == [("cancelled", "")]


def test_a_write_under_an_old_fence_ends_nothing(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    job_release(**held(ticket))
    floor.claim()
    with pytest.raises(Conflict):
        job_succeed(**held(ticket), result={})
    assert ends() == [("released", ""), ("", "")]


def test_the_ends_of_attempts_are_counted_for_the_device(floor: Floor) -> None:
    floor.tune()
    floor.claim()
    Job.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    floor.device.refresh_from_db()
    assert floor.device.failures_in_row == 1
    ticket = floor.claim()
    JobAttempt.objects.filter(end="").update(started_at=timezone.now() - timedelta(seconds=100))
    job_succeed(**held(ticket), result={})
    job_succeed(**held(ticket), result={})
    floor.device.refresh_from_db()
    assert floor.device.failures_in_row == 0
    assert 100 <= floor.device.run_s < 130


def attempt(floor: Floor, start_h: float, end_h: float | None, **columns: Any) -> None:
    """An attempt between two times, in hours before now."""
    now = timezone.now()
    JobAttempt.objects.create(
        job=Job.objects.get(),
        fence=100 + JobAttempt.objects.count(),
        device=floor.device,
        target=floor.target,
        level=0,
        wait_s=0.0,
        started_at=now - timedelta(hours=start_h),
        ended_at=None if end_h is None else now - timedelta(hours=end_h),
        end="" if end_h is None else "succeeded",
        **columns,
    )


def test_utilisation_is_the_busy_share_of_each_part_of_the_window(floor: Floor) -> None:
    floor.tune()
    Device.objects.update(created_at=timezone.now() - timedelta(hours=2.99))
    attempt(floor, 9.0, 3.5)  # before it joined, as after a restored backup
    attempt(floor, 2.5, 1.5)
    attempt(floor, 0.25, None)
    data = utilisation(hours=4, bins=4)
    shares = [one.share for one in data.targets[floor.target.slug]]
    assert shares[0] is None
    assert shares[1:] == [pytest.approx(one, abs=0.01) for one in (0.5, 0.5, 0.25)]
    (own,) = utilisation(hours=4, bins=4, device=floor.device).targets.values()
    assert [one.share for one in own][1:] == [pytest.approx(one, abs=0.01) for one in shares[1:]]


def test_a_window_with_too_many_attempts_is_shortened(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    floor.tune()
    for end_h in (3.0, 2.0, 1.0):
        attempt(floor, end_h + 0.5, end_h)
    monkeypatch.setattr(selector, "MOST_ATTEMPTS", 2)
    data = utilisation(hours=4, bins=4)
    assert (data.until - data.since).total_seconds() == pytest.approx(2 * 3600, abs=60)


def test_retired_devices_are_left_out(floor: Floor) -> None:
    _, other = shopfloor.make_machine(name="floor-2")
    Device.objects.filter(pk=other.pk).update(state=DeviceState.RETIRED)
    (bins,) = utilisation(hours=1, bins=1).targets.values()
    Device.objects.filter(pk=floor.device.pk).update(state=DeviceState.RETIRED)
    assert utilisation(hours=1, bins=1).targets == {}
    assert len(bins) == 1


def test_hub_jobs_have_attempts_without_a_device(galaxy: Any) -> None:
    ticket = shopfloor.claim_inspect()
    job_succeed(**held(ticket), result={})
    row = JobAttempt.objects.get()
    assert (row.device, row.target, row.end) == (None, None, "succeeded")
    assert Job.objects.get(kind=JobKind.INSPECT).attempts.get() == row
