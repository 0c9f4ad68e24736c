"""How devices end their attempts: signed, once, or late; and the follow-ups."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid, NotFound
from registry.services.work.agent import agent_end
from registry.services.work.operations import job_write
from registry.services.work.reaper import job_reap
from registry.states import AttemptEnd, DeviceState, JobKind, JobState
from registry.tables import AuditEntry, Device, Job, JobAttempt, JobReport
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor(settings: Any) -> Floor:
    settings.SCHEDULE_S = settings.PASSES_S = 60.0
    return shopfloor.floor()


@pytest.fixture
def agent(floor: Floor) -> Machine:
    return machine(floor.target)


@pytest.fixture
def ticket(floor: Floor, agent: Machine) -> JobTicket:
    floor.tune()
    return agent.claim()


def end(agent: Machine, ticket: JobTicket, report: dict[str, Any]) -> dict[str, Any]:
    return agent_end(device=agent.device, job_uuid=ticket.job_uuid, **report)


def failed(agent: Machine, ticket: JobTicket, **failure: str) -> dict[str, Any]:
    stated = {"class": "timeout", "code": "job_timeout", "detail": "too slow", **failure}
    signature = agent.sign(ticket, "failed", stated)
    return {
        "fence": ticket.fence,
        "outcome": "failed",
        "failure": stated,
        "signature": signature,
    }


def expire(ticket: JobTicket) -> None:
    past = timezone.now() - timedelta(seconds=1)
    Job.objects.filter(uuid=ticket.job_uuid).update(lease_until=past)
    job_reap()


def kinds_queued() -> set[str]:
    return set(Job.objects.filter(state=JobState.QUEUED).values_list("kind", flat=True))


def test_success_ends_the_job_and_queues_what_follows(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    assert end(agent, ticket, agent.succeeded(ticket)) == {"state": "succeeded", "is_late": False}
    job = Job.objects.get(uuid=ticket.job_uuid)
    assert job.result == {"summary": "done"}
    assert {JobKind.SCHEDULE, JobKind.PASSES} <= kinds_queued()
    assert JobAttempt.objects.get().end == AttemptEnd.SUCCEEDED


def test_a_repeated_end_counts_once(agent: Machine, ticket: JobTicket) -> None:
    report = agent.succeeded(ticket)
    first = end(agent, ticket, report)
    queued = Job.objects.count()
    assert end(agent, ticket, report) == first
    assert (Job.objects.count(), JobReport.objects.count()) == (queued, 1)


def test_a_repeated_report_queues_missing_follow_ups(agent: Machine, ticket: JobTicket) -> None:
    report = agent.succeeded(ticket)
    end(agent, ticket, report)
    Job.objects.exclude(uuid=ticket.job_uuid).delete()
    end(agent, ticket, report)
    assert JobKind.SCHEDULE in kinds_queued()


def test_another_end_of_the_same_claim_is_refused(agent: Machine, ticket: JobTicket) -> None:
    end(agent, ticket, agent.succeeded(ticket))
    for report in (agent.succeeded(ticket, trials=9), failed(agent, ticket)):
        with pytest.raises(Conflict) as refused:
            end(agent, ticket, report)
        assert refused.value.code == "already_ended"
    assert Job.objects.get(uuid=ticket.job_uuid).result == {"summary": "done"}


def test_a_late_success_is_stored_and_changes_nothing(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    expire(ticket)
    other = floor.claim()
    assert end(agent, ticket, agent.succeeded(ticket)) == {"state": "leased", "is_late": True}
    job = Job.objects.get(uuid=ticket.job_uuid)
    assert (job.fence, job.device, job.result) == (other.fence, floor.device, {})
    report = JobReport.objects.get()
    assert (report.is_late, report.document["result"]) == (True, {"summary": "done"})
    assert kinds_queued() == set()


def test_a_late_report_takes_back_the_failure_of_the_device(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    expire(ticket)
    assert Device.objects.get(pk=agent.device.pk).failures_in_row == 1
    report = agent.succeeded(ticket)
    for _ in range(2):
        end(agent, ticket, report)
        assert Device.objects.get(pk=agent.device.pk).failures_in_row == 0


def test_a_late_success_after_the_jobs_success_is_late_again(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    expire(ticket)
    second = machine(floor.target, "agent-2")
    again = second.claim()
    end(second, again, second.succeeded(again, trials=2))
    report = agent.succeeded(ticket)
    for _ in range(2):
        assert end(agent, ticket, report) == {"state": "succeeded", "is_late": True}
    assert Job.objects.get(uuid=ticket.job_uuid).result["trials"] == 2


def test_a_failure_has_its_class(agent: Machine, ticket: JobTicket) -> None:
    assert end(agent, ticket, failed(agent, ticket))["state"] == "failed"
    job = Job.objects.get(uuid=ticket.job_uuid)
    assert (job.failure_class, job.failure_code) == ("timeout", "job_timeout")


def test_a_failure_of_the_infrastructure_is_not_charged(agent: Machine, ticket: JobTicket) -> None:
    report = failed(agent, ticket, **{"class": "infrastructure", "code": "internal_error"})
    assert end(agent, ticket, report)["state"] == "queued"
    assert Job.objects.get(uuid=ticket.job_uuid).attempt == 0
    # The claim has ended: the same report again says so, and queues nothing twice.
    assert end(agent, ticket, report) == {"state": "queued", "is_late": False}


def test_a_released_job_is_queued_at_once(agent: Machine, ticket: JobTicket) -> None:
    report = {
        "fence": ticket.fence,
        "outcome": "released",
        "signature": agent.sign(ticket, "released", {}),
    }
    assert end(agent, ticket, report)["state"] == "queued"
    assert agent.claim().fence == ticket.fence + 1


@pytest.mark.parametrize(
    "change",
    [
        {"result": {"summary": "another"}},
        {"signature": "bm90IGEgc2lnbmF0dXJl"},
        {"signature": "***"},
        {"outcome": "released", "result": None},
    ],
)
def test_an_end_that_the_device_did_not_sign_is_refused_and_audited(
    agent: Machine, ticket: JobTicket, change: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refused:
        end(agent, ticket, agent.succeeded(ticket) | change)
    assert refused.value.code == "signature_invalid"
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.QUARANTINED
    assert AuditEntry.objects.filter(action="device.offence").count() == 1
    assert Job.objects.get(uuid=ticket.job_uuid).state == JobState.QUEUED


def test_another_devices_key_signs_nothing(floor: Floor, agent: Machine, ticket: JobTicket) -> None:
    thief = machine(floor.target, "thief")
    report = agent.succeeded(ticket) | {
        "signature": thief.sign(ticket, "succeeded", {"summary": "done"})
    }
    with pytest.raises(Invalid):
        end(agent, ticket, report)


def test_a_job_that_a_device_never_held_is_refused_and_audited(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    thief = machine(floor.target, "thief")
    with pytest.raises(NotFound) as refused:
        end(thief, ticket, thief.succeeded(ticket))
    assert refused.value.code == "job_not_found"
    thief.device.refresh_from_db()
    assert thief.device.state == DeviceState.QUARANTINED
    assert Job.objects.get(uuid=ticket.job_uuid).state == JobState.LEASED
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.ACTIVE


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "won"},
        {"result": {}},
        {"result": None},
        {"result": {"summary": 7}},
        {"failure": {"class": "crash", "code": "job_crashed", "detail": ""}},
    ],
)
def test_a_malformed_end_is_refused(
    agent: Machine, ticket: JobTicket, change: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refused:
        end(agent, ticket, agent.succeeded(ticket) | change)
    assert refused.value.code == "invalid_request"


@pytest.mark.parametrize(
    "failure", [{"class": "bad luck"}, {"code": "my_code"}, {"detail": "x" * 10_001}]
)
def test_a_malformed_failure_is_refused(
    agent: Machine, ticket: JobTicket, failure: dict[str, str]
) -> None:
    with pytest.raises(Invalid) as refused:
        end(agent, ticket, failed(agent, ticket, **failure))
    assert refused.value.code == "invalid_request"


def test_writes_before_the_lease_was_lost_stay(
    floor: Floor, agent: Machine, ticket: JobTicket
) -> None:
    agent.write(ticket, "trial_add", 1, trial=shopfloor.trial())
    expire(ticket)
    second = floor.claim()
    with pytest.raises(Conflict):
        agent.write(ticket, "trial_add", 2, trial=shopfloor.trial(2, "1"))
    held: dict[str, Any] = {"job_uuid": second.job_uuid, "fence": second.fence}
    job_write(**held, name="trial_add", columns={"trial": shopfloor.trial(2, "1")})
    assert Job.objects.get(uuid=ticket.job_uuid).trials.count() == 2
