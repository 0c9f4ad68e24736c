"""Holding a job: claims, heartbeats, endings, and what comes too late."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid, NotFound
from registry.selectors.work.job import events_of
from registry.services.results.record import record_add
from registry.services.results.trial import trial_add
from registry.services.work.attempt import (
    job_claim,
    job_fail,
    job_heartbeat,
    job_note,
    job_progress,
    job_release,
    job_succeed,
    job_yield,
)
from registry.services.work.job import job_submit
from registry.services.work.lease import CLAIMS_PER_ATTEMPT, transition
from registry.states import FailureClass, JobKind, JobState
from registry.tables import Job, Record, Target, Trial
from registry.transitions import JOB_TRANSITIONS
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def held(ticket: JobTicket) -> dict[str, Any]:
    return {"job_uuid": ticket.job_uuid, "fence": ticket.fence}


def wait_over(job: Job) -> None:
    """Let the pause after a broken attempt be over."""
    Job.objects.filter(pk=job.pk).update(not_before=timezone.now())


def break_down(ticket: JobTicket) -> None:
    job_fail(
        **held(ticket),
        failure_class=FailureClass.INFRASTRUCTURE,
        code="internal_error",
        detail="disk full",
    )


def test_a_claim_hands_out_all_that_the_work_needs(floor: Floor) -> None:
    job = floor.tune(parameters={"budget_s": 5})
    ticket = floor.claim()
    assert (ticket.job_uuid, ticket.fence, ticket.attempt) == (str(job.uuid), 1, 1)
    assert (ticket.mlmodel, ticket.revision_oid) == ("alice/squeezenet", floor.revision.oid)
    assert (ticket.target, ticket.device) == (shopfloor.SLUG, "floor-1")
    assert [file.path for file in ticket.files] == ["model.onnx"]
    assert ticket.graph == shopfloor.make_facts()
    assert (ticket.card, ticket.parameters) == ({"license": "apache-2.0"}, {"budget_s": 5})
    job.refresh_from_db()
    assert (job.state, job.device, job.fence) == (JobState.LEASED, floor.device, 1)
    assert timezone.now() < job.lease_until <= timezone.now() + timedelta(seconds=ticket.lease_s)


def test_urgent_work_of_an_account_is_claimed_first_then_accounts_take_turns(floor: Floor) -> None:
    late = floor.tune()
    later = shopfloor.floor("bob/one").tune()
    urgent = shopfloor.floor("alice/two").tune(priority=5)
    claimed = [floor.claim().job_uuid for _ in range(3)]
    assert claimed == [str(job.uuid) for job in (urgent, later, late)]


def test_a_claim_takes_only_what_its_worker_can_do(floor: Floor) -> None:
    floor.tune()
    other, _ = shopfloor.make_machine("arm64-generic", name="phone")
    inspect = {"kinds": [JobKind.INSPECT], "target": None}
    assert job_claim(device_name="phone", kinds=[JobKind.TUNE], target=other.slug) is None
    assert job_claim(device_name=None, kinds=[JobKind.TUNE], target=None) is None
    assert job_claim(device_name=None, **inspect) is None
    job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    ticket = job_claim(device_name=None, **inspect)
    assert ticket is not None
    assert (ticket.target, ticket.device) == ("", "")


def test_work_for_a_target_that_is_switched_off_waits(floor: Floor) -> None:
    floor.tune()
    Target.objects.update(enabled=False)
    claim = {"device_name": "floor-1", "kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
    assert job_claim(**claim) is None
    Target.objects.update(enabled=True)
    assert job_claim(**claim)


def test_only_a_device_of_the_target_may_claim_for_it(floor: Floor) -> None:
    shopfloor.make_machine("arm64-generic", name="phone")
    ask = {"kinds": [JobKind.TUNE], "target": shopfloor.SLUG}
    with pytest.raises(NotFound):
        job_claim(device_name="nobody", **ask)
    for name in ("phone", None):
        with pytest.raises(Invalid) as caught:
            job_claim(device_name=name, **ask)
        assert caught.value.code == "invalid_target"


def test_a_heartbeat_renews_the_lease_and_shows_the_device(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    soon = timezone.now() + timedelta(seconds=1)
    Job.objects.update(lease_until=soon)
    floor.device.last_seen_at = None
    floor.device.save()
    job_heartbeat(**held(ticket))
    job.refresh_from_db()
    floor.device.refresh_from_db()
    assert job.lease_until > soon
    assert floor.device.last_seen_at is not None


def test_progress_and_notes_are_there_for_people(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    times = {"used_s": 41.5, "budget_s": 120.0}
    job_progress(**held(ticket), phase="search", done=3, total=None, message="a\0b", **times)
    job_note(**held(ticket), message="child said \0")
    job.refresh_from_db()
    reported_at = datetime.fromisoformat(job.progress.pop("at"))
    assert abs((timezone.now() - reported_at).total_seconds()) < 60
    words = {"phase": "search", "done": 3, "total": None, "message": "a\ufffdb"}
    assert job.progress == words | times
    assert [event.message for event in events_of(job)][-1] == "child said \ufffd"


def test_a_success_ends_the_job_once(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    job_succeed(**held(ticket), result={"builds": 2})
    job_succeed(**held(ticket), result={"builds": 9})
    job.refresh_from_db()
    assert (job.state, job.result, job.lease_until) == (JobState.SUCCEEDED, {"builds": 2}, None)
    assert len([event for event in events_of(job) if event.message == "Succeeded."]) == 1
    with pytest.raises(Conflict):
        break_down(ticket)


def test_a_verdict_on_the_work_ends_the_job_once(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    failure = {"failure_class": "invalid", "code": "no_backend", "detail": "Conv\0"}
    job_fail(**held(ticket), **failure)
    job_fail(**held(ticket), **failure | {"detail": "again"})
    job.refresh_from_db()
    assert (job.state, job.failure_code) == (JobState.FAILED, "no_backend")
    assert (job.failure_class, job.failure_detail) == ("invalid", "Conv\ufffd")
    with pytest.raises(Conflict):
        job_succeed(**held(ticket), result={})


def test_a_failure_needs_a_known_code_and_class(floor: Floor) -> None:
    floor.tune()
    ticket = floor.claim()
    for failure_class, code in [("invalid", "no_such_code"), ("no-such-class", "no_backend")]:
        with pytest.raises(ValueError, match=r"no.such"):
            job_fail(**held(ticket), failure_class=failure_class, code=code, detail="")


def test_a_broken_rig_charges_nobody_but_pauses(floor: Floor) -> None:
    job = floor.tune()
    break_down(floor.claim())
    job.refresh_from_db()
    assert (job.state, job.attempt, job.fence, job.device) == (JobState.QUEUED, 0, 1, None)
    assert job.not_before > timezone.now()
    assert job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=shopfloor.SLUG) is None
    wait_over(job)
    assert floor.claim().attempt == 1


def test_a_rig_that_stays_broken_fails_the_job_in_the_end(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = floor.tune()
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    pauses = []
    for _ in range(job.max_attempts * CLAIMS_PER_ATTEMPT):
        break_down(floor.claim())
        job.refresh_from_db()
        if job.not_before:
            pauses.append((job.not_before - now).total_seconds())
        wait_over(job)
    assert pauses[:4] == [2, 4, 8, 16]
    assert max(pauses) == 60
    assert (job.state, job.failure_class) == (JobState.FAILED, FailureClass.INFRASTRUCTURE)
    assert (job.failure_code, job.failure_detail) == ("internal_error", "disk full")


def test_a_job_given_back_is_done_by_the_next_at_once(floor: Floor) -> None:
    floor.tune()
    job_release(**held(floor.claim()))
    ticket = floor.claim()
    assert (ticket.fence, ticket.attempt) == (2, 1)


def test_a_job_may_give_way_as_often_as_it_must(floor: Floor) -> None:
    """What comes last on a busy hub is late, not broken."""
    job = floor.tune()
    for _ in range(2 * job.max_attempts * CLAIMS_PER_ATTEMPT):
        job_yield(**held(floor.claim()))
    job.refresh_from_db()
    assert (job.state, job.attempt) == (JobState.QUEUED, 0)
    # Workers that end again and again are another matter.
    for _ in range(job.max_attempts * CLAIMS_PER_ATTEMPT):
        job_release(**held(floor.claim()))
    job.refresh_from_db()
    assert (job.state, job.failure_code) == (JobState.FAILED, "job_interrupted")


WRITES: list[Callable[[Floor, JobTicket], object]] = [
    lambda _, ticket: job_heartbeat(**held(ticket)),
    lambda _, ticket: job_progress(**held(ticket), phase="x", done=9, total=9, message=""),
    lambda _, ticket: job_note(**held(ticket), message="late"),
    lambda _, ticket: job_succeed(**held(ticket), result={"late": True}),
    lambda _, ticket: job_release(**held(ticket)),
    lambda _, ticket: job_yield(**held(ticket)),
    lambda _, ticket: break_down(ticket),
    lambda _, ticket: trial_add(**held(ticket), trial=shopfloor.trial()),
    lambda floor, ticket: record_add(**held(ticket), document=shopfloor.document(floor.revision)),
]


@pytest.mark.parametrize("write", WRITES)
def test_a_stale_fence_writes_nothing(
    floor: Floor, write: Callable[[Floor, JobTicket], object]
) -> None:
    job = floor.tune()
    stale = floor.claim()
    job_release(**held(stale))
    floor.claim()
    before = Job.objects.values().get(pk=job.pk), events_of(job).count()
    with pytest.raises(Conflict) as caught:
        write(floor, stale)
    assert caught.value.code == "lease_lost"
    assert (Job.objects.values().get(pk=job.pk), events_of(job).count()) == before
    assert not Trial.objects.exists()
    assert not Record.objects.exists()


@pytest.mark.parametrize("uuid", ["", "nonsense", "\0", "00000000-0000-0000-0000-000000000000"])
def test_a_job_that_is_gone_is_a_lost_lease(floor: Floor, uuid: str) -> None:
    with pytest.raises(Conflict) as caught:
        job_heartbeat(job_uuid=uuid, fence=1)
    assert caught.value.code == "lease_lost"


def test_the_table_of_transitions_is_obeyed(floor: Floor) -> None:
    job = floor.tune()
    for source in JobState:
        for to in set(JobState) - JOB_TRANSITIONS[source]:
            with pytest.raises(ValueError, match="does not go"):
                transition(Job.objects.filter(pk=job.pk), source, to)
