"""Asking for work and calling it off."""

import pytest
from django.contrib.auth.models import AnonymousUser

from registry.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated
from registry.selectors.work.job import events_of, job_get, jobs_of, trials_of
from registry.selectors.work.queue import waits_of
from registry.services.results.trial import trial_add
from registry.services.work.attempt import job_heartbeat, job_release, job_succeed
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.services.work.target import target_enable
from registry.states import JobKind, JobState
from registry.tables import AuditEntry, Job, User
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


def position(job: Job) -> int | None:
    wait = waits_of([job]).get(job.pk)
    return wait.position if wait else None


def test_submitted_work_waits_and_is_audited(floor: Floor) -> None:
    job = job_submit(
        actor=floor.alice, kind=JobKind.TUNE, revision=floor.revision, target=floor.target
    )
    assert (job.state, job.attempt, job.fence) == (JobState.QUEUED, 0, 0)
    assert job.requested_by == floor.alice
    entry = AuditEntry.objects.get(action="job.submit")
    assert (entry.actor, entry.namespace) == (floor.alice, "alice")


def test_asking_twice_for_the_same_work_is_asking_once(floor: Floor) -> None:
    assert floor.tune() == floor.tune(priority=1)
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    assert job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision) == inspection
    assert Job.objects.count() == 2


def test_work_that_has_ended_can_be_asked_for_again(floor: Floor) -> None:
    first = floor.tune()
    ticket = floor.claim()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    assert floor.tune() != first


@pytest.mark.parametrize("kind", [JobKind.INSPECT, JobKind.TUNE])
def test_the_database_itself_keeps_open_work_unique(floor: Floor, kind: JobKind) -> None:
    target = floor.target if kind == JobKind.TUNE else None
    job = job_submit(actor=None, kind=kind, revision=floor.revision, target=target)
    with pytest.raises(Exception, match=r"(?i)unique"):
        Job.objects.create(kind=kind, revision=job.revision, target=job.target)


def test_a_stranger_may_not_ask_for_work(floor: Floor) -> None:
    stranger = User.objects.create(username="mallory")
    ask = {"kind": JobKind.TUNE, "revision": floor.revision, "target": floor.target}
    with pytest.raises(Forbidden):
        job_submit(actor=stranger, **ask)
    with pytest.raises(Unauthenticated):
        job_submit(actor=AnonymousUser(), **ask)
    assert not Job.objects.exists()


def test_tuning_waits_for_inspection(floor: Floor) -> None:
    floor.graph.delete()
    with pytest.raises(NotFound) as caught:
        floor.tune()
    assert caught.value.code == "graph_not_found"


def test_tuning_needs_a_target_that_is_switched_on(floor: Floor) -> None:
    with pytest.raises(Invalid) as caught:
        job_submit(actor=None, kind=JobKind.TUNE, revision=floor.revision)
    assert caught.value.code == "invalid_target"
    target_enable(actor=None, slug=floor.target.slug, enabled=False)
    floor.target.refresh_from_db()
    with pytest.raises(Invalid, match="disabled"):
        floor.tune()


def test_an_inspection_takes_no_target(floor: Floor) -> None:
    with pytest.raises(Invalid, match="no target"):
        job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision, target=floor.target)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("budget_s", value) for value in (0, -1, 10**6, "60", None, True, float("nan"))],
        *[("trials", value) for value in (0, 1.5, "9", True, 2**40)],
        *[("seed", value) for value in (-1, 0.5, None)],
        *[("strategy", value) for value in ("", "TPE!", 1, "\0", "x" * 40)],
        *[("backends", value) for value in ([], "onnxruntime", [1], ["../x"])],
        ("colour", "red"),
    ],
)
def test_a_search_that_cannot_be_run_is_refused(floor: Floor, name: str, value: object) -> None:
    with pytest.raises(Invalid) as caught:
        floor.tune(parameters={name: value})
    assert set(caught.value.fields) == {name}
    assert not Job.objects.exists()


def test_a_search_can_be_wished_for(floor: Floor) -> None:
    wishes = {
        "budget_s": 7.5,
        "trials": 3,
        "seed": 0,
        "strategy": "tpe",
        "backends": ["onnxruntime"],
    }
    assert floor.tune(parameters=wishes).parameters == wishes


def test_waiting_work_is_cancelled_at_once(floor: Floor) -> None:
    job = job_cancel(actor=floor.alice, job=floor.tune())
    assert job.state == JobState.CANCELLED
    assert job.ended_at is not None
    assert job_cancel(actor=floor.alice, job=job).state == JobState.CANCELLED
    assert AuditEntry.objects.filter(action="job.cancel").count() == 1


def test_the_worker_hears_of_a_cancellation_and_gives_the_job_back(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    assert not job_heartbeat(**held).cancel
    assert job_cancel(actor=floor.alice, job=job).state == JobState.LEASED
    assert job_heartbeat(**held).cancel
    job_release(**held)
    job.refresh_from_db()
    assert job.state == JobState.CANCELLED


def test_work_that_has_ended_cannot_be_cancelled(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    with pytest.raises(Conflict) as caught:
        job_cancel(actor=floor.alice, job=job)
    assert caught.value.code == "already_ended"


def test_a_stranger_may_not_cancel(floor: Floor) -> None:
    job = floor.tune()
    with pytest.raises(Forbidden):
        job_cancel(actor=User.objects.create(username="mallory"), job=job)
    job.refresh_from_db()
    assert job.state == JobState.QUEUED


def test_jobs_are_seen_by_those_who_may_read_the_model() -> None:
    public = shopfloor.floor().tune()
    hidden = shopfloor.floor("bob/secret", private=True).tune()
    bob = User.objects.get(username="bob")
    assert list(jobs_of(AnonymousUser())) == [public]
    assert list(jobs_of(bob)) == [hidden, public]
    assert job_get(bob, str(hidden.uuid)) == hidden
    for uuid in (str(hidden.uuid), "nonsense", "\0", str(hidden.uuid)[:-1]):
        with pytest.raises(NotFound):
            job_get(AnonymousUser(), uuid)


def test_work_planned_for_later_is_done_at_once_for_who_asks_for_it(floor: Floor) -> None:
    planned = floor.tune(priority=300)
    assert floor.tune(priority=400).priority == 300
    later = {"kind": JobKind.TUNE, "revision": floor.revision, "target": floor.target}
    asked = job_submit(actor=floor.alice, **later, parameters={"budget_s": 60})
    assert asked == planned
    assert (asked.priority, asked.requested_by) == (100, floor.alice)
    assert asked.parameters == {"budget_s": 60}
    # Hers now: no other wish changes what she asked for.
    assert floor.tune(priority=1).parameters == {"budget_s": 60}


def test_work_that_was_begun_stays_what_it_is(floor: Floor) -> None:
    planned = floor.tune(priority=300)
    floor.claim()
    later = {"kind": JobKind.TUNE, "revision": floor.revision, "target": floor.target}
    asked = job_submit(actor=floor.alice, **later, parameters={"budget_s": 60})
    assert (asked, asked.priority, asked.parameters) == (planned, 300, {})


def test_jobs_are_filtered_by_what_they_are_about() -> None:
    first = shopfloor.floor().tune()
    second = shopfloor.floor("bob/other").tune()
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=second.revision)
    assert set(jobs_of(None, kind="tune")) == {first, second}
    assert set(jobs_of(None, mlmodel="BOB/Other")) == {second, inspection}
    assert set(jobs_of(None, target=shopfloor.SLUG)) == {first, second}
    assert not jobs_of(None, state="failed")
    assert not jobs_of(None, mlmodel="bob")


def test_a_job_tells_its_place_in_the_queue(floor: Floor) -> None:
    first, urgent = floor.tune(), shopfloor.floor("alice/other").tune(priority=1)
    inspection = job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    assert [position(job) for job in (urgent, first, inspection)] == [1, 2, 1]
    floor.claim()
    urgent.refresh_from_db()
    assert [position(job) for job in (urgent, first)] == [None, 1]


def test_all_that_a_target_does_stands_in_one_queue(floor: Floor) -> None:
    study = job_submit(
        actor=None,
        kind=JobKind.PASSES,
        revision=floor.revision,
        target=floor.target,
        priority=BACKGROUND_PRIORITY,
    )
    search = floor.tune()
    assert [position(job) for job in (search, study)] == [1, 2]


def test_a_job_keeps_its_trials_and_its_log(floor: Floor) -> None:
    job = floor.tune()
    ticket = floor.claim()
    for number, threads in enumerate(["all", "half"]):
        trial_add(
            job_uuid=ticket.job_uuid, fence=ticket.fence, trial=shopfloor.trial(number, threads)
        )
    assert [trial.number for trial in trials_of(job)] == [0, 1]
    assert [event.message for event in events_of(job)] == ["Attempt 1 begins on floor-1."]
