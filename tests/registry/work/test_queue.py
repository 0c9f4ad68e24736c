"""The queue is shared fairly between accounts: with the real tables."""

from datetime import timedelta

import pytest
from django.utils import timezone

from registry.fairshare import NEW_ACCOUNT
from registry.selectors.work.queue import is_search_due, waits_of
from registry.services.work.attempt import job_claim, job_release, job_succeed, job_yield
from registry.services.work.job import job_cancel, job_submit
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.services.work.reaper import job_reap
from registry.services.work.target import target_enable
from registry.states import JobKind, JobState, NamespaceKind, Role
from registry.tables import Device, Job, JobFlow, Membership, Namespace, User
from tests.registry import shopfloor
from tests.registry.shopfloor import SLUG, make_machine, make_revision
from tests.registry.work.queue_simulation import longest_wait_s

pytestmark = pytest.mark.django_db

INSPECT = [JobKind.INSPECT]


def submit(name: str, actor: User | None = None, **columns: int) -> Job:
    """An inspection of a fresh model."""
    revision = make_revision(name)
    return job_submit(actor=actor, kind=JobKind.INSPECT, revision=revision, **columns)


def flood(owner: str, count: int) -> list[Job]:
    return [submit(f"{owner}/net{number}") for number in range(count)]


def take(kinds: list[JobKind] | None = None) -> Job:
    ticket = job_claim(device_name=None, kinds=kinds or INSPECT, target=None)
    assert ticket is not None
    return Job.objects.get(uuid=ticket.job_uuid)


def finish(job: Job, seconds: float) -> None:
    """End a job as if it had taken so long."""
    Job.objects.filter(pk=job.pk).update(started_at=timezone.now() - timedelta(seconds=seconds))
    job_succeed(job_uuid=str(job.uuid), fence=job.fence, result={})


def age_accounts() -> None:
    User.objects.update(date_joined=timezone.now() - 2 * NEW_ACCOUNT)


@pytest.mark.parametrize("is_new", [False, True])
def test_one_model_does_not_wait_for_51_of_another_owner(*, is_new: bool) -> None:
    make_revision("bob/small")
    flood("alice", 51)
    if not is_new:
        age_accounts()
    waited = 0.0
    for _ in range(5):
        finish(take(), 40.0)
    small = submit("bob/net")
    while (job := take()) != small:
        finish(job, 40.0)
        waited += 40.0
    bound = longest_wait_s(others=1, longest_s=40.0)
    assert waited <= bound == 80.0
    assert Job.objects.filter(state=JobState.QUEUED).count() >= 44


def test_the_worst_wait_under_a_flood_does_not_grow_with_the_flood() -> None:
    worst = []
    for size in (20, 80):
        make_revision(f"small{size}/x")
        flood(f"flood{size}", size)
        age_accounts()
        small = submit(f"small{size}/net")
        turns = 0
        while (job := take()) != small:
            finish(job, 40.0)
            turns += 1
        worst.append(turns)
        Job.objects.all().delete()
    assert max(worst) <= 2


def test_seconds_are_shared_not_jobs() -> None:
    for number in range(12):
        submit(f"alice/net{number}")
        submit(f"bob/net{number}")
    age_accounts()
    spent = {"alice": 0.0, "bob": 0.0}
    for _ in range(12):
        job = take()
        owner = job.revision.mlmodel.namespace.name
        length = {"alice": 200.0, "bob": 20.0}[owner]
        finish(job, length)
        spent[owner] += length
    assert abs(spent["alice"] - spent["bob"]) <= 220


def test_an_organisation_has_no_share_of_its_own() -> None:
    alice = User.objects.create(username="alice")
    revisions = []
    for number in range(4):
        lab = Namespace.objects.create(name=f"lab{number}", kind=NamespaceKind.ORGANISATION)
        Membership.objects.create(namespace=lab, user=alice, role=Role.ADMIN)
        revision = make_revision(f"owner{number}/net")
        revision.mlmodel.namespace = lab
        revision.mlmodel.save()
        revisions.append(revision)
    for revision in revisions:
        job_submit(actor=alice, kind=JobKind.INSPECT, revision=revision)
    assert [flow.account for flow in JobFlow.objects.exclude(account=None)] == [alice]


def test_the_hubs_own_jobs_are_charged_to_the_author_of_the_revision() -> None:
    revision = make_revision("alice/net")
    bob = User.objects.create(username="bob")
    revision.author = bob
    revision.save()
    job = job_submit(actor=None, kind=JobKind.INSPECT, revision=revision)
    assert job.flow is not None
    assert job.flow.account == bob


def test_background_work_of_another_waits_for_what_people_wait_for() -> None:
    study = submit("bob/net", priority=BACKGROUND_PRIORITY)
    jobs = flood("alice", 3)
    age_accounts()
    assert [take() for _ in range(4)] == [*jobs, study]


def test_a_job_that_yielded_is_left_to_others_by_a_quick_worker() -> None:
    submit("alice/large")
    job = take()
    job_yield(job_uuid=str(job.uuid), fence=job.fence, estimate_s=300.0)
    claim = {"device_name": None, "kinds": INSPECT, "target": None}
    assert job_claim(**claim, is_quick=True) is None
    small = submit("alice/small")
    again = job_claim(**claim)
    assert again is not None
    assert again.job_uuid == str(small.uuid), "the small one comes first now"
    job.refresh_from_db()
    assert (job.estimate_s, job.yields, job.attempt) == (300.0, 1, 0)
    again = job_claim(**claim)
    assert again is not None
    assert (again.job_uuid, again.yields) == (str(job.uuid), 1)


def test_flows_that_have_nothing_are_unmarked_and_marked_again() -> None:
    first = submit("alice/one")
    assert take() == first
    claim = {"device_name": None, "kinds": INSPECT, "target": None}
    assert job_claim(**claim) is None
    assert not JobFlow.objects.filter(is_waiting=True).exists()
    first.refresh_from_db()
    job_release(job_uuid=str(first.uuid), fence=first.fence)
    assert take() == first


def test_the_reaper_finds_jobs_that_no_flow_shows() -> None:
    stranded, flowless = submit("alice/one"), submit("bob/two")
    JobFlow.objects.update(is_waiting=False)
    old = timezone.now() - timedelta(minutes=2)
    Job.objects.filter(pk=flowless.pk).update(flow=None)
    Job.objects.update(notified_at=old)
    claim = {"device_name": None, "kinds": INSPECT, "target": None}
    assert job_claim(**claim) is None
    job_reap()
    assert {take(), take()} == {stranded, flowless}


def test_a_deleted_account_leaves_its_jobs_to_the_common_flow() -> None:
    job = submit("alice/one")
    Membership.objects.all().delete()
    User.objects.get(username="alice").delete()
    job_reap()
    job.refresh_from_db()
    assert job.flow is not None
    assert job.flow.account is None
    assert take() == job


def test_a_wait_has_a_reason_that_people_can_read() -> None:
    target, _ = make_machine()
    floors = [shopfloor.floor(f"{name}/net{n}") for name in ("alice", "bob") for n in range(3)]
    age_accounts()
    jobs = [floor.tune(parameters={"budget_s": 120.0}) for floor in floors]
    waits = waits_of(jobs)
    assert [waits[job.pk].position for job in jobs] == [1, 3, 5, 2, 4, 6]
    assert waits[jobs[0].pk].reason == "next for a free worker"
    assert waits[jobs[5].pk].reason == (
        "2 jobs of the same account and 3 of others are ahead; expected start in 10 min"
    )
    assert waits[jobs[3].pk].reason == "1 job of others is ahead; expected start in 2 min"
    job_cancel(actor=None, job=jobs[0])
    assert jobs[0].pk not in waits_of(Job.objects.all())
    Job.objects.filter(pk=jobs[1].pk).update(not_before=timezone.now() + timedelta(seconds=50))
    assert waits_of([jobs[1]])[jobs[1].pk].reason.startswith("paused until ")
    Device.objects.update(health="offline")
    assert waits_of([jobs[1]])[jobs[1].pk].reason == "no device of the target is online"
    assert waits_of([jobs[1]])[jobs[1].pk].start_s is None
    target_enable(actor=None, slug=target.slug, enabled=False)
    assert job_claim(device_name="floor-1", kinds=[JobKind.TUNE], target=SLUG) is None


def test_a_study_gives_way_to_searches_unless_it_has_waited_long() -> None:
    floor = shopfloor.floor()
    study = job_submit(
        actor=None,
        kind=JobKind.PASSES,
        revision=floor.revision,
        target=floor.target,
        priority=BACKGROUND_PRIORITY,
    )
    floor.claim(JobKind.PASSES)
    assert not is_search_due(str(study.uuid))
    shopfloor.floor("bob/other").tune()
    assert is_search_due(str(study.uuid))
    # The accounts of searches have received hours meanwhile: it is the study's turn.
    JobFlow.objects.filter(level=0).update(due_s=10**6)
    assert not is_search_due(str(study.uuid))
