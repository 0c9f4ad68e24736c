"""Whatever happens in whatever order: at most one holder, nothing lost, ends are final."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from hpcfair.tickets import JobTicket
from registry.errors import Conflict
from registry.services.results.trial import trial_add
from registry.services.work.attempt import (
    job_claim,
    job_fail,
    job_heartbeat,
    job_release,
    job_succeed,
    job_yield,
)
from registry.services.work.job import job_cancel
from registry.services.work.lease import CLAIMS_PER_ATTEMPT
from registry.services.work.reaper import job_reap
from registry.states import FailureClass, JobKind, JobState
from registry.tables import Job, Trial
from registry.transitions import JOB_ENDED
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db

_LONG_AGO = timedelta(hours=1)


class Shop(RuleBasedStateMachine):
    """Workers that claim, beat, die, come back late and repeat themselves; a person; a reaper.

    What must be true is kept beside it, by job: ``holder``, the fence whose writes are taken;
    ``charged``, the attempts that count; ``unwanted``, the jobs whose cancellation was asked for.
    """

    tickets: Bundle[JobTicket] = Bundle("tickets")
    numbers = st.integers(0, 1)

    @initialize()
    def open(self) -> None:
        self.day = transaction.atomic()
        self.day.__enter__()
        self.floors = [shopfloor.floor(f"alice/net{number}") for number in range(2)]
        self.jobs = [floor.tune() for floor in self.floors]
        # One that soon reaches its bounds, one that does not.
        Job.objects.filter(pk=self.jobs[0].pk).update(max_attempts=1)
        self.holder: dict[str, int] = {}
        self.charged = {str(job.uuid): 0 for job in self.jobs}
        self.unwanted: set[str] = set()
        self.ended: dict[str, JobState] = {}
        self.trials = 0

    def teardown(self) -> None:
        if hasattr(self, "day"):
            self.nothing_is_lost()
            transaction.set_rollback(True)
            self.day.__exit__(None, None, None)

    @rule(number=numbers)
    def ask_again(self, number: int) -> None:
        job = self.floors[number].tune()
        assert (job == self.jobs[number]) == (str(self.jobs[number].uuid) not in self.ended)
        self.jobs[number] = job
        self.charged.setdefault(str(job.uuid), 0)

    @rule(target=tickets)
    def claim(self) -> Any:
        ticket = job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG)
        if ticket is None:
            return multiple()
        assert ticket.job_uuid not in self.holder, "two hold one job"
        assert ticket.job_uuid not in self.unwanted, "unwanted work is done"
        self.holder[ticket.job_uuid] = ticket.fence
        self.charged[ticket.job_uuid] += 1
        return ticket

    @rule(number=numbers)
    def fall_silent_until_reaped(self, number: int) -> None:
        job = self.jobs[number]
        held = Job.objects.filter(pk=job.pk, state=JobState.LEASED)
        expired = held.update(lease_until=timezone.now() - _LONG_AGO)
        assert job_reap() == expired
        if expired:
            del self.holder[str(job.uuid)]

    @rule(target=tickets, number=numbers)
    def fall_silent_and_be_replaced(self, number: int) -> Any:
        self.fall_silent_until_reaped(number)
        self.wait_for_the_rig_to_mend()
        return self.claim()

    @rule(ticket=tickets)
    def beat(self, ticket: JobTicket) -> None:
        self._write(ticket, job_heartbeat)

    @rule(ticket=tickets)
    def add_trial(self, ticket: JobTicket) -> None:
        self.trials += 1
        trial = shopfloor.trial(self.trials, f"{self.trials}")
        before = Trial.objects.count()
        taken = self._write(ticket, trial_add, trial=trial)
        assert Trial.objects.count() == before + taken

    @rule(ticket=tickets)
    def succeed(self, ticket: JobTicket) -> None:
        self._end(ticket, job_succeed, result={})

    @rule(ticket=tickets)
    def find_fault_with_the_work(self, ticket: JobTicket) -> None:
        fault = {"failure_class": FailureClass.CRASH, "code": "job_crashed", "detail": ""}
        self._end(ticket, job_fail, **fault)

    @rule(ticket=tickets)
    def find_the_rig_broken(self, ticket: JobTicket) -> None:
        fault = {"failure_class": FailureClass.INFRASTRUCTURE, "code": "storage_full"}
        self._give_back(ticket, job_fail, detail="", **fault)

    @rule(ticket=tickets)
    def release(self, ticket: JobTicket) -> None:
        self._give_back(ticket, job_release)

    @rule(ticket=tickets)
    def give_way(self, ticket: JobTicket) -> None:
        self._give_back(ticket, job_yield)

    @rule(number=numbers)
    def cancel(self, number: int) -> None:
        job = self.jobs[number]
        try:
            job_cancel(actor=None, job=job)
        except Conflict:
            assert str(job.uuid) in self.ended
        else:
            self.unwanted.add(str(job.uuid))

    @rule()
    def wait_for_the_rig_to_mend(self) -> None:
        Job.objects.update(not_before=None)

    @rule()
    def reap_with_nothing_due(self) -> None:
        assert job_reap() == 0

    @invariant()
    def attempts_are_counted_and_capped(self) -> None:
        for job in Job.objects.all():
            assert 0 <= job.attempt <= job.max_attempts
            assert job.fence - job.yields <= job.max_attempts * CLAIMS_PER_ATTEMPT
            if job.state not in JOB_ENDED:
                assert job.attempt == self.charged[str(job.uuid)]

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
        claim = {"device_name": "floor-1", "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
        while ticket := job_claim(**claim):
            job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
        assert not Job.objects.exclude(state__in=JOB_ENDED).exists()
        assert Job.objects.count() == len(self.charged)

    def _write(self, ticket: JobTicket, verb: Any, **given: Any) -> bool:
        """Write for a ticket; it must be taken just if the ticket still holds its job."""
        holds = self.holder.get(ticket.job_uuid) == ticket.fence
        try:
            verb(job_uuid=ticket.job_uuid, fence=ticket.fence, **given)
        except Conflict:
            assert not holds, "the holder was refused"
            return False
        # Taken without holding it is only the word that ended the job, said again.
        assert holds or ticket.job_uuid in self.ended, "a stranger's write was taken"
        return holds

    def _end(self, ticket: JobTicket, verb: Any, **given: Any) -> bool:
        before = list(Job.objects.order_by("pk").values())
        if self._write(ticket, verb, **given):
            del self.holder[ticket.job_uuid]
            return True
        assert list(Job.objects.order_by("pk").values()) == before, "a late word changed a job"
        return False

    def _give_back(self, ticket: JobTicket, verb: Any, **given: Any) -> None:
        if self._end(ticket, verb, **given):
            self.charged[ticket.job_uuid] -= 1


def test_any_order_of_events_keeps_the_rules() -> None:
    run_state_machine_as_test(
        Shop,
        settings=settings(
            # SQL that differs between databases is in few statements; SQLite runs most orders.
            max_examples=6 if connection.vendor == "postgresql" else 12,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
