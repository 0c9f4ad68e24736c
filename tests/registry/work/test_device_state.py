"""Changes of the state of devices: permissions, effects, and the audit log."""

import itertools
from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from registry.errors import Conflict, Forbidden, Invalid, Unauthenticated
from registry.selectors.work.device import device_get
from registry.selectors.work.target import targets_served
from registry.services.work.attempt import job_claim, job_fail, job_heartbeat, job_succeed
from registry.services.work.device import (
    DECISIONS,
    device_drain,
    device_maintenance,
    device_quarantine,
    device_register,
    device_resume,
    device_retire,
)
from registry.services.work.reaper import job_reap
from registry.states import DeviceState, FailureClass, JobKind, JobState
from registry.tables import AuditEntry, Device, Job, JobAttempt, User
from registry.transitions import DEVICE_TRANSITIONS
from tests.registry import shopfloor
from tests.registry.work.fleet import enrol

pytestmark = pytest.mark.django_db

PAIRS = list(itertools.product(DeviceState, DeviceState))


@pytest.fixture
def machine() -> Device:
    return shopfloor.make_machine()[1]


@pytest.fixture
def operator() -> User:
    return User.objects.create(username="op", is_staff=True)


@pytest.mark.parametrize(("source", "to"), PAIRS)
def test_a_device_changes_its_state_as_the_table_permits(
    machine: Device, source: DeviceState, to: DeviceState
) -> None:
    Device.objects.update(state=source)
    if source != to and to not in DEVICE_TRANSITIONS[source]:
        with pytest.raises(Conflict) as caught:
            DECISIONS[to](actor=None, name=machine.name)
        assert caught.value.code == "invalid_state"
        assert device_get(machine.name).state == source
    else:
        assert DECISIONS[to](actor=None, name=machine.name, reason="why").state == to
    entries = AuditEntry.objects.filter(action__startswith="device.").exclude(
        action="device.register"
    )
    assert entries.exists() == (source != to and to in DEVICE_TRANSITIONS[source])


def test_a_decision_is_logged_with_its_reason(machine: Device, operator: User) -> None:
    device = device_drain(actor=operator, name=machine.name, reason="new memory")
    assert (device.state, device.reason) == (DeviceState.DRAINING, "new memory")
    assert device.state_at is not None
    entry = AuditEntry.objects.get(action="device.drain")
    assert (entry.actor, entry.subject) == (operator, machine.name)
    assert entry.detail == {"from": "active", "to": "draining", "reason": "new memory"}


@pytest.mark.parametrize("reason", ["x" * 501, "two\nlines", "nul\0"])
def test_an_odd_reason_is_refused(machine: Device, reason: str) -> None:
    with pytest.raises(Invalid):
        device_drain(actor=None, name=machine.name, reason=reason)


def test_owners_drain_and_retire_their_devices_and_only_operators_decide_on_trust(
    operator: User,
) -> None:
    alice, bob = (User.objects.create(username=name) for name in ("alice", "bob"))
    device, _ = enrol(owner=alice)
    with pytest.raises(Unauthenticated):
        device_drain(actor=AnonymousUser(), name=device.name)
    with pytest.raises(Forbidden):
        device_drain(actor=bob, name=device.name)
    device_drain(actor=alice, name=device.name)
    device_resume(actor=alice, name=device.name)
    device_maintenance(actor=alice, name=device.name)
    with pytest.raises(Forbidden):
        device_quarantine(actor=alice, name=device.name)
    device_quarantine(actor=operator, name=device.name)
    for decide in (device_resume, device_maintenance):
        with pytest.raises(Forbidden):
            decide(actor=alice, name=device.name)
    assert device_retire(actor=alice, name=device.name).state == DeviceState.RETIRED


@pytest.mark.parametrize("decide", [device_drain, device_maintenance])
def test_a_device_that_drains_ends_its_job_and_gets_no_other(decide) -> None:  # type: ignore[no-untyped-def]
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    decide(actor=None, name=floor.device.name)
    shopfloor.floor("bob/other").tune()
    claim = {"device_name": floor.device.name, "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
    assert job_claim(**claim) is None  # type: ignore[arg-type]
    assert not targets_served().exists()
    job_heartbeat(job_uuid=ticket.job_uuid, fence=ticket.fence)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    device_resume(actor=None, name=floor.device.name)
    assert targets_served().exists()
    assert job_claim(**claim) is not None  # type: ignore[arg-type]


@pytest.mark.parametrize("decide", [device_quarantine, device_retire])
def test_the_jobs_of_a_device_that_is_not_trusted_are_queued_again(decide) -> None:  # type: ignore[no-untyped-def]
    floor = shopfloor.floor()
    job = floor.tune()
    ticket = floor.claim()
    decide(actor=None, name=floor.device.name)
    job.refresh_from_db()
    assert (job.state, job.attempt, job.device) == (JobState.QUEUED, 0, None)
    with pytest.raises(Conflict) as caught:
        job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    assert caught.value.code == "lease_lost"
    assert JobAttempt.objects.get(job=job).end == "released"


def test_a_retired_device_loses_its_token() -> None:
    device, _ = enrol()
    assert device.token_hash
    assert device_retire(actor=None, name=device.name).token_hash == ""


def test_a_worker_does_not_take_the_name_of_an_enrolled_machine() -> None:
    device, _ = enrol()
    with pytest.raises(Conflict) as caught:
        device_register(name=device.name, target=device.target, facts={})
    assert caught.value.code == "device_exists"


def fail(floor: shopfloor.Floor, failure_class: FailureClass) -> None:
    Job.objects.update(not_before=None)
    ticket = floor.claim()
    job_fail(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        failure_class=failure_class,
        code="internal_error",
        detail="broken",
    )


def test_failures_of_the_machine_are_counted_until_a_job_shows_that_it_works() -> None:
    floor = shopfloor.floor()
    floor.tune(parameters={"budget_s": 5.0})
    fail(floor, FailureClass.INFRASTRUCTURE)
    fail(floor, FailureClass.INFRASTRUCTURE)
    assert device_get(floor.device.name).failures_in_row == 2
    # The hub's own workers are not put into quarantine.
    assert device_get(floor.device.name).state == DeviceState.ACTIVE
    fail(floor, FailureClass.INVALID)
    assert device_get(floor.device.name).failures_in_row == 0


def test_a_run_that_the_hub_has_to_end_is_a_failure_of_the_machine() -> None:
    floor = shopfloor.floor()
    floor.tune(parameters={"budget_s": 5.0})
    floor.claim()
    Job.objects.update(running_since=timezone.now() - timedelta(days=1))
    job_reap()
    assert Job.objects.get().failure_code == "job_timeout"
    assert device_get(floor.device.name).failures_in_row == 1
    attempt = JobAttempt.objects.get()
    assert (attempt.end, attempt.failure_class) == ("failed", FailureClass.TIMEOUT)


def test_a_device_that_fails_again_and_again_is_put_into_quarantine() -> None:
    floor = shopfloor.floor()
    floor.tune()
    shopfloor.floor("bob/net").tune()
    Device.objects.update(public_key="a key", checked_at=timezone.now())
    for number in range(6):
        assert device_get(floor.device.name).state == DeviceState.ACTIVE
        floor.claim()
        leased = Job.objects.filter(state=JobState.LEASED)
        leased.update(lease_until=timezone.now() - timedelta(seconds=1))
        job_reap()
        assert (device_get(floor.device.name).checked_at is None) == (number >= 1)
    device = device_get(floor.device.name)
    assert (device.state, device.reason) == ("quarantined", "6 attempts in a row failed")
    assert AuditEntry.objects.get(action="device.quarantine").actor is None
    assert device_resume(actor=None, name=device.name).failures_in_row == 0


def test_the_seconds_of_attempts_add_up() -> None:
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    ago = timezone.now() - timedelta(seconds=90)
    JobAttempt.objects.update(started_at=ago)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    assert 90 <= device_get(floor.device.name).run_s < 100
