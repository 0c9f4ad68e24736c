"""Whatever happens in whatever order: at most one holder, nothing lost, ends are final."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from registry.errors import Conflict
from registry.services.job import (
    job_cancel,
    job_claim,
    job_fail,
    job_heartbeat,
    job_release,
    job_succeed,
)
from registry.services.lease import CLAIMS_PER_ATTEMPT
from registry.services.reaper import job_reap
from registry.services.trial import trial_add
from registry.states import JOB_ENDED, JOB_TRANSITIONS, FailureClass, JobKind, JobState
from registry.tables import Job, Trial
from registry.tickets import JobTicket
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

_LONG_AGO = timedelta(hours=1)


class Shop(RuleBasedStateMachine):
    """Workers that claim, beat, die, come back late and repeat themselves; a person; a reaper.

    ``holder`` is what must be true: the fence whose writes are taken, for each job.
    """

    tickets: Bundle[JobTicket | None] = Bundle("tickets")

    @initialize()
    def open(self) -> None:
        self.day = transaction.atomic()
        self.day.__enter__()
        floors = [shopfloor.floor(f"alice/net{number}") for number in range(2)]
        self.jobs = [floor.tune(priority=number) for number, floor in enumerate(floors)]
        self.holder: dict[str, int] = {}
        self.ended: dict[str, JobState] = {}
        self.numbers = 0

    def teardown(self) -> None:
        if hasattr(self, "day"):
            self.nothing_is_lost()
            transaction.set_rollback(True)
            self.day.__exit__(None, None, None)

    @rule(target=tickets)
    def claim(self) -> JobTicket | None:
        ticket = job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG)
        if ticket:
            assert ticket.job_uuid not in self.holder, "two hold one job"
            self.holder[ticket.job_uuid] = ticket.fence
        return ticket

    @rule(ticket=tickets)
    def beat(self, ticket: JobTicket | None) -> None:
        self._write(ticket, job_heartbeat)

    @rule(ticket=tickets)
    def add_trial(self, ticket: JobTicket | None) -> None:
        self.numbers += 1
        before = Trial.objects.count()
        written = self._write(
            ticket, trial_add, trial=shopfloor.trial(self.numbers, f"{self.numbers}")
        )
        assert Trial.objects.count() == before + written

    @rule(ticket=tickets)
    def succeed(self, ticket: JobTicket | None) -> None:
        self._end(ticket, job_succeed, result={})

    @rule(ticket=tickets, failure_class=st.sampled_from(FailureClass))
    def fail(self, ticket: JobTicket | None, failure_class: FailureClass) -> None:
        failure = {"failure_class": failure_class, "code": "job_crashed", "detail": ""}
        self._end(ticket, job_fail, **failure)

    @rule(ticket=tickets)
    def release(self, ticket: JobTicket | None) -> None:
        self._end(ticket, job_release)

    @rule(number=st.integers(0, 1))
    def cancel(self, number: int) -> None:
        job = self.jobs[number]
        try:
            job_cancel(actor=None, job=job)
        except Conflict:
            assert str(job.uuid) in self.ended

    @rule(number=st.integers(0, 1))
    def fall_silent_until_reaped(self, number: int) -> None:
        job = self.jobs[number]
        held = Job.objects.filter(pk=job.pk, state=JobState.LEASED)
        expired = held.update(lease_until=timezone.now() - _LONG_AGO)
        assert job_reap() == expired
        if expired:
            del self.holder[str(job.uuid)]

    @rule()
    def wait_for_the_rig_to_mend(self) -> None:
        Job.objects.update(not_before=None)

    @rule()
    def reap_with_nothing_due(self) -> None:
        assert job_reap() == 0

    @invariant()
    def attempts_are_capped(self) -> None:
        for job in Job.objects.all():
            assert 0 <= job.attempt <= job.max_attempts
            assert job.attempt <= job.fence <= job.max_attempts * CLAIMS_PER_ATTEMPT

    @invariant()
    def ends_are_final_and_holders_hold(self) -> None:
        for job in Job.objects.all():
            uuid, state = str(job.uuid), JobState(job.state)
            assert self.ended.get(uuid, state) == state
            assert (state == JobState.LEASED) == (uuid in self.holder)
            if state in JOB_ENDED:
                assert job.ended_at is not None
                assert job.lease_until is None
                self.ended[uuid] = state

    def nothing_is_lost(self) -> None:
        """Given time and a worker that works, every job comes to an end."""
        Job.objects.filter(state=JobState.LEASED).update(lease_until=timezone.now() - _LONG_AGO)
        job_reap()
        Job.objects.update(not_before=None)
        self.holder.clear()
        while ticket := self.claim():
            job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
        assert Job.objects.filter(state__in=JOB_ENDED).count() == len(self.jobs)

    def _write(self, ticket: JobTicket | None, verb: Any, **given: Any) -> bool:
        """Write for a ticket; it must be taken just if the ticket still holds its job."""
        if ticket is None:
            return False
        holds = self.holder.get(ticket.job_uuid) == ticket.fence
        try:
            verb(job_uuid=ticket.job_uuid, fence=ticket.fence, **given)
        except Conflict:
            assert not holds, "the holder was refused"
            return False
        return holds

    def _end(self, ticket: JobTicket | None, verb: Any, **given: Any) -> None:
        before = list(Job.objects.order_by("pk").values())
        if self._write(ticket, verb, **given):
            assert ticket is not None
            del self.holder[ticket.job_uuid]
        else:
            assert list(Job.objects.order_by("pk").values()) == before, "a late word changed a job"


def test_any_order_of_events_keeps_the_rules() -> None:
    run_state_machine_as_test(
        Shop,
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_every_state_is_in_the_table_and_only_ends_have_no_way_on() -> None:
    assert set(JOB_TRANSITIONS) == set(JobState)
    assert {JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED} == JOB_ENDED
