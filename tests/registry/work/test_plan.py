"""What is planned, and for whom."""

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.work.queue import is_search_due
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.catchup import plan_catch_up
from registry.services.work.job import job_submit
from registry.services.work.plan import (
    BACKGROUND_PRIORITY,
    REPEAT_AFTER_S,
    plan,
    plan_follow_up,
    plan_repetition,
)
from registry.services.work.target import target_enable
from registry.states import DeviceHealth, JobKind, JobState
from registry.tables import Device, Graph, Job, User
from tests.factories import make_user
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def test_every_served_target_gets_a_search() -> None:
    floor = shopfloor.floor()
    shopfloor.make_machine("arm64-generic", name="other")
    jobs = plan(actor=None, revision=floor.revision, parameters={"budget_s": 30})
    assert {job.target.slug for job in jobs if job.target} == {shopfloor.SLUG, "arm64-generic"}
    assert {job.parameters["budget_s"] for job in jobs} == {30}


def test_a_target_that_is_off_or_has_no_device_online_gets_none() -> None:
    floor = shopfloor.floor()
    shopfloor.make_machine("arm64-generic", name="other")
    target_enable(actor=None, slug=shopfloor.SLUG, enabled=False)
    Device.objects.filter(name="other").update(health=DeviceHealth.OFFLINE)
    with pytest.raises(Invalid) as refused:
        plan(actor=None, revision=floor.revision)
    assert refused.value.code == "invalid_target"
    assert "Start a worker" in refused.value.hint


def test_named_targets_are_taken_as_named() -> None:
    floor = shopfloor.floor()
    shopfloor.make_machine("arm64-generic", name="other")
    jobs = plan(actor=None, revision=floor.revision, targets=["arm64-generic"])
    assert [job.target.slug for job in jobs if job.target] == ["arm64-generic"]
    with pytest.raises(NotFound):
        plan(actor=None, revision=floor.revision, targets=["unknown"])


def test_planning_twice_is_planning_once() -> None:
    floor = shopfloor.floor()
    first = plan(actor=None, revision=floor.revision)
    assert plan(actor=None, revision=floor.revision) == first
    assert Job.objects.count() == 1


def test_before_inspection_there_is_nothing_to_search() -> None:
    floor = shopfloor.floor()
    Graph.objects.all().delete()
    with pytest.raises(NotFound) as refused:
        plan(actor=None, revision=floor.revision)
    assert refused.value.code == "graph_not_found"


def test_only_who_may_write_may_plan(alice: User) -> None:
    floor = shopfloor.floor("alice/squeezenet")
    with pytest.raises(Forbidden):
        plan(actor=make_user("mallory"), revision=floor.revision)
    assert plan(actor=alice, revision=floor.revision)


def test_a_target_that_joins_catches_up_with_what_was_there() -> None:
    first, second = shopfloor.floor(), shopfloor.floor("bob/other")
    target, _ = shopfloor.make_machine("arm64-generic", name="other")
    jobs = plan_catch_up(target=target)
    assert {job.revision for job in jobs} == {first.revision, second.revision}
    assert {job.kind for job in jobs} == {JobKind.TUNE}
    assert all(job.priority > first.tune().priority for job in jobs)


def test_what_a_search_left_open_is_measured_again_later_a_few_times() -> None:
    floor = shopfloor.floor()
    floor.tune(parameters={"budget_s": 30, "strategy": "tpe"})
    delays = []
    for _ in range(len(REPEAT_AFTER_S) + 1):
        Job.objects.update(not_before=None)
        ticket = floor.claim()
        held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
        job_succeed(**held, result={"inconclusive": [{"tolerance": "exact"}]})
        job = plan_repetition(job_uuid=ticket.job_uuid)
        if job is not None:
            assert job.not_before is not None
            delays.append(round((job.not_before - job.created_at).total_seconds()))
            assert job.parameters["budget_s"] == 30
            assert job.parameters.keys() == {"budget_s", "repeats"}
            assert 200 < job.priority < BACKGROUND_PRIORITY
            waiting = job_claim(
                device_name=floor.device.name, kinds=[JobKind.TUNE], target=shopfloor.SLUG
            )
            assert waiting is None
    assert delays == [round(seconds) for seconds in REPEAT_AFTER_S]


def test_few_repetitions_wait_on_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("registry.services.work.plan.MOST_REPETITIONS", 1)
    planned = []
    for name in ("alice/one", "alice/two"):
        floor = shopfloor.floor(name)
        floor.tune()
        ticket = floor.claim()
        held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
        job_succeed(**held, result={"inconclusive": [{"tolerance": "exact"}]})
        planned.append(plan_repetition(job_uuid=ticket.job_uuid) is not None)
    assert planned == [True, False]


def test_what_was_decided_is_not_measured_again() -> None:
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={"inconclusive": []})
    assert plan_repetition(job_uuid=ticket.job_uuid) is None


def test_a_search_that_somebody_asks_for_takes_the_place_of_a_repetition(alice: User) -> None:
    floor = shopfloor.floor("alice/squeezenet")
    floor.tune()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_succeed(**held, result={"inconclusive": [{"tolerance": "exact"}]})
    repetition = plan_repetition(job_uuid=ticket.job_uuid)
    (search,) = plan(actor=alice, revision=floor.revision, parameters={"budget_s": 60})
    assert search == repetition
    assert (search.parameters, search.not_before) == ({"budget_s": 60}, None)
    assert floor.claim().job_uuid == str(search.uuid)


def test_a_target_that_joins_leaves_out_networks_that_do_not_open() -> None:
    floor = shopfloor.floor()
    target, _ = shopfloor.make_machine("arm64-generic", name="other")
    job = job_submit(actor=None, kind=JobKind.INSPECT, revision=floor.revision)
    Job.objects.filter(pk=job.pk).update(state=JobState.FAILED)
    assert plan_catch_up(target=target) == []
    Job.objects.filter(pk=job.pk).update(state=JobState.SUCCEEDED)
    assert len(plan_catch_up(target=target)) == 1


@pytest.mark.parametrize("kind", [JobKind.SCHEDULE, JobKind.PASSES])
def test_what_was_found_in_the_background_is_tried_before_more_is_looked_for(
    kind: JobKind,
) -> None:
    floor, other = shopfloor.floor(), shopfloor.floor("bob/other")
    found, more = (
        job_submit(
            actor=None,
            kind=kind,
            revision=each.revision,
            target=each.target,
            priority=BACKGROUND_PRIORITY,
        )
        for each in (floor, other)
    )
    ticket = floor.claim(kind)
    assert ticket.job_uuid == str(found.uuid)
    search = plan_follow_up(job_uuid=ticket.job_uuid, fence=ticket.fence)
    assert (search.kind, search.revision) == (JobKind.TUNE, floor.revision)
    assert is_search_due(str(more.uuid))
    assert other.tune().priority < search.priority


def test_who_lost_the_job_plans_nothing() -> None:
    floor = shopfloor.floor()
    floor.tune()
    ticket = floor.claim()
    Job.objects.update(fence=99)
    with pytest.raises(Conflict):
        plan_follow_up(job_uuid=ticket.job_uuid, fence=ticket.fence)


def test_what_was_searched_there_once_is_not_searched_again() -> None:
    floor = shopfloor.floor()
    floor.tune()
    assert plan_catch_up(target=floor.target) == []
