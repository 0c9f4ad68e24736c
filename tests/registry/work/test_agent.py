"""Claims of agents that fit their time, renewals, and claims that never reached their device."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import DjangoAssertNumQueries, Settings

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.services.repository.mlmodel import mlmodel_delete
from registry.services.work.agent import (
    IDLE_CLAIMS_PER_S,
    agent_claim,
    agent_end,
    agent_heartbeat,
    agent_read,
    agent_write,
    heartbeat_s,
    poll_s,
)
from registry.services.work.attempt import job_release
from registry.services.work.claim import job_take
from registry.services.work.device import device_drain, device_quarantine
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.target import target_enable
from registry.states import DeviceHealth, DeviceState, JobKind, JobState
from registry.tables import AuditEntry, Job
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def agent(floor: Floor) -> Machine:
    return machine(floor.target)


def test_a_job_that_takes_too_long_is_left_to_others(floor: Floor, agent: Machine) -> None:
    floor.tune(parameters={"budget_s": 240})
    kinds = [JobKind.TUNE]
    offer = agent_claim(device=agent.device, kinds=kinds, available_s=60.0, cached=())
    assert offer.ticket is None
    assert offer.wait_s > 0
    assert "its remaining time" in offer.reason
    assert agent.claim(available_s=3600.0).parameters == {"budget_s": 240}


def test_a_short_job_behind_a_long_one_is_taken(floor: Floor, agent: Machine) -> None:
    floor.tune(parameters={"budget_s": 240})
    short = shopfloor.floor("alice/short")
    short.tune(parameters={"budget_s": 10})
    assert agent.claim(available_s=60.0).mlmodel == "alice/short"


@pytest.mark.parametrize("kind", [JobKind.INSPECT, JobKind.ASSESS, JobKind.DOI])
def test_jobs_of_the_hub_are_not_for_devices(floor: Floor, agent: Machine, kind: JobKind) -> None:
    with pytest.raises(Invalid):
        agent_claim(device=agent.device, kinds=[kind], available_s=None, cached=())


def test_a_device_that_drains_gets_nothing_and_ends_what_it_has(
    floor: Floor, agent: Machine
) -> None:
    floor.tune()
    ticket = agent.claim()
    device = device_drain(actor=None, name=agent.device.name, reason="new disk")
    shopfloor.floor("alice/other").tune()
    offer = agent_claim(device=device, kinds=[JobKind.TUNE], available_s=None, cached=())
    assert (offer.ticket, offer.reason) == (None, "agent-1 is draining: new disk")
    (renewal,) = agent_heartbeat(device=device, held=[(ticket.job_uuid, ticket.fence)])
    assert not renewal.is_lost
    agent.write(ticket, "note", 1, message="still at work")


def test_a_disabled_target_gives_its_reason(floor: Floor, agent: Machine) -> None:
    target_enable(actor=None, slug=floor.target.slug, enabled=False)
    agent.device.refresh_from_db()
    offer = agent_claim(device=agent.device, kinds=[JobKind.TUNE], available_s=None, cached=())
    assert "disabled" in offer.reason


def test_a_heartbeat_renews_all_leases_and_is_a_sign_of_life(floor: Floor, agent: Machine) -> None:
    floor.tune()
    shopfloor.floor("alice/other").tune()
    tickets = [agent.claim(), agent.claim()]
    soon = timezone.now() + timedelta(seconds=1)
    Job.objects.update(lease_until=soon)
    type(agent.device).objects.update(health=DeviceHealth.OFFLINE)
    agent.device.refresh_from_db()
    held = [(ticket.job_uuid, ticket.fence) for ticket in tickets]
    renewals = agent_heartbeat(device=agent.device, held=held)
    assert [(each.is_lost, each.cancel) for each in renewals] == [(False, False)] * 2
    assert not Job.objects.filter(lease_until=soon).exists()
    agent.device.refresh_from_db()
    assert agent.device.health == DeviceHealth.ONLINE
    assert agent_heartbeat(device=agent.device, held=[]) == []
    assert heartbeat_s() < renewals[0].lease_s


def test_a_heartbeat_of_many_jobs_writes_the_row_of_the_device_once_and_last(
    floor: Floor, agent: Machine
) -> None:
    """Decisions about a device lock its jobs first, then the device."""
    floor.tune()
    shopfloor.floor("alice/other").tune()
    tickets = [agent.claim(), agent.claim()]
    agent.device.last_seen_at = None
    with CaptureQueriesContext(connection) as captured:
        agent_heartbeat(device=agent.device, held=[(t.job_uuid, t.fence) for t in tickets])
    updates = [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]
    tables = [sql.split('"')[1] for sql in updates]
    assert tables == ["registry_job", "registry_job", "registry_device"]


def test_a_heartbeat_reports_lost_and_cancelled_jobs(floor: Floor, agent: Machine) -> None:
    job = floor.tune()
    ticket = agent.claim()
    job_cancel(actor=floor.alice, job=job)
    thief = machine(floor.target, "thief")
    named = [(ticket.job_uuid, ticket.fence)]
    (own,) = agent_heartbeat(device=agent.device, held=named)
    (stolen,) = agent_heartbeat(device=thief.device, held=named)
    (stale,) = agent_heartbeat(device=agent.device, held=[(ticket.job_uuid, 99)])
    assert (own.cancel, own.is_lost) == (True, False)
    assert stolen.is_lost
    assert stale.is_lost
    assert thief.device.state == DeviceState.ACTIVE


def test_a_job_whose_claim_never_arrived_is_queued_again_uncharged(
    floor: Floor, agent: Machine
) -> None:
    floor.tune()
    ticket = agent.claim()
    agent_heartbeat(device=agent.device, held=[])
    assert Job.objects.get().state == JobState.LEASED
    long_ago = timezone.now() - timedelta(days=1)
    Job.objects.update(started_at=long_ago, heartbeat_at=F("started_at"))
    Job.objects.update(heartbeat_at=long_ago)
    agent_heartbeat(device=agent.device, held=[])
    job = Job.objects.get()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    assert agent.claim().fence == ticket.fence + 1


def test_a_job_that_was_renewed_or_is_named_stays_leased(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim()
    long_ago = timezone.now() - timedelta(days=1)
    Job.objects.update(started_at=long_ago, heartbeat_at=long_ago)
    agent_heartbeat(device=agent.device, held=[(ticket.job_uuid, ticket.fence)])
    agent_heartbeat(device=agent.device, held=[])
    assert Job.objects.get().state == JobState.LEASED


def test_a_job_of_another_device_is_not_accessible(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim()
    thief = machine(floor.target, "thief")
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    with pytest.raises(NotFound) as refused:
        agent_read(device=thief.device, **held, name="trials_of_job", parameters={})
    assert refused.value.code == "job_not_found"
    assert AuditEntry.objects.get(action="device.offence").detail["code"] == "job_not_found"
    thief.device.refresh_from_db()
    assert thief.device.state == DeviceState.QUARANTINED
    with pytest.raises(Forbidden) as forbidden:
        agent_write(device=thief.device, **held, name="note", columns={"message": "x"}, number=1)
    assert forbidden.value.code == "device_quarantined"


def test_a_job_that_was_deleted_is_no_offence(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim()
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    mlmodel_delete(actor=floor.alice, mlmodel=floor.revision.mlmodel)
    with pytest.raises(Conflict) as refused:
        agent_write(device=agent.device, **held, name="note", columns={"message": "x"}, number=1)
    assert refused.value.code == "lease_lost"
    with pytest.raises(Conflict):
        agent_end(device=agent.device, job_uuid=ticket.job_uuid, **agent.succeeded(ticket))
    (renewal,) = agent_heartbeat(device=agent.device, held=[(ticket.job_uuid, ticket.fence)])
    assert renewal.is_lost
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.ACTIVE


def test_a_device_holds_a_bounded_number_of_jobs(
    floor: Floor, agent: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.services.work.agent.MOST_HELD", 2)
    floor.tune()
    shopfloor.floor("alice/other").tune()
    shopfloor.floor("alice/third").tune()
    first, _ = agent.claim(), agent.claim()
    offer = agent_claim(device=agent.device, kinds=[JobKind.TUNE], available_s=None, cached=())
    assert (offer.ticket, offer.reason) == (None, "agent-1 holds 2 jobs already")
    job_release(job_uuid=first.job_uuid, fence=first.fence)
    assert agent.claim()


def test_a_change_of_state_before_the_claim_takes_effect(floor: Floor, agent: Machine) -> None:
    job = floor.tune()
    events = job.events.count()
    stale = type(agent.device).objects.get(pk=agent.device.pk)
    device_quarantine(actor=None, name=agent.device.name, reason="wrong outputs")
    assert job_take([JobKind.TUNE], stale, is_quick=False) is None
    job.refresh_from_db()
    assert (job.state, job.fence, job.events.count()) == (JobState.QUEUED, 0, events)


def test_a_malformed_write_is_no_offence(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim()
    with pytest.raises(Invalid):
        agent_write(
            device=agent.device,
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            name="note",
            columns={"text": "of a newer version"},
            number=1,
        )
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.ACTIVE


def test_an_impossible_result_leads_to_quarantine(floor: Floor, agent: Machine) -> None:
    floor.tune()
    ticket = agent.claim()
    with pytest.raises(Invalid):
        agent_write(
            device=agent.device,
            job_uuid=ticket.job_uuid,
            fence=ticket.fence,
            name="trial_add",
            columns={"trial": shopfloor.trial(duration_s=1e6)},
            number=1,
        )
    agent.device.refresh_from_db()
    assert agent.device.state == DeviceState.QUARANTINED
    assert Job.objects.get().state == JobState.QUEUED
    shopfloor.floor("alice/other").tune()
    offer = agent_claim(device=agent.device, kinds=[JobKind.TUNE], available_s=None, cached=())
    assert offer.ticket is None


def test_quarantine_ends_the_leases_of_a_device(floor: Floor, agent: Machine) -> None:
    job_submit(actor=None, kind=JobKind.TUNE, revision=floor.revision, target=floor.target)
    ticket = agent.claim()
    device_quarantine(actor=None, name=agent.device.name, reason="wrong outputs")
    (renewal,) = agent_heartbeat(device=agent.device, held=[(ticket.job_uuid, ticket.fence)])
    assert renewal.is_lost


def test_a_claim_also_hands_back_a_job_that_never_arrived(floor: Floor, agent: Machine) -> None:
    """An agent without a job asks for one more often than it sends heartbeats."""
    floor.tune()
    ticket = agent.claim()
    long_ago = timezone.now() - timedelta(days=1)
    Job.objects.update(started_at=long_ago, heartbeat_at=long_ago)
    again = agent.claim()
    assert (again.job_uuid, again.fence, again.attempt) == (ticket.job_uuid, 2, 1)


def test_devices_without_work_ask_the_more_rarely_the_more_there_are(
    agent: Machine, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.JOB_LEASE_S = 45
    claim: dict[str, Any] = {"kinds": [JobKind.TUNE], "available_s": None, "cached": ()}
    assert agent_claim(device=agent.device, **claim).wait_s == 45 / 6
    # The agent and the worker of the floor.
    monkeypatch.setattr("registry.services.work.agent.IDLE_CLAIMS_PER_S", 0.1)
    assert agent_claim(device=agent.device, **claim).wait_s == 20
    machine(agent.device.target, "agent-2")
    assert agent_claim(device=agent.device, **claim).wait_s == 30


@given(st.integers(1, 100_000))
def test_a_fleet_without_work_asks_a_bounded_number_of_times_a_second(devices: int) -> None:
    lease_s = float(settings.JOB_LEASE_S)
    wait_s = poll_s(devices)
    # A claim is a sign of life, and a device is suspect after two leases.
    assert lease_s / 6 <= wait_s <= lease_s
    assert devices / wait_s <= max(IDLE_CLAIMS_PER_S, devices / lease_s) * (1 + 1e-9)


def test_the_most_frequent_requests_need_few_statements(
    floor: Floor, agent: Machine, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    floor.tune()
    ticket = agent.claim()
    agent.device.last_seen_at = timezone.now()
    # What it holds and the renewal, in a transaction.
    with django_assert_num_queries(4):
        agent_heartbeat(device=agent.device, held=[(ticket.job_uuid, ticket.fence)])
    with django_assert_num_queries(3):
        agent_heartbeat(device=agent.device, held=[])
