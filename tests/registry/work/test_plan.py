"""What is planned, and for whom."""

import pytest

from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.work.queue import is_search_due
from registry.services.work.job import job_submit
from registry.services.work.plan import (
    BACKGROUND_PRIORITY,
    plan,
    plan_catch_up,
    plan_follow_up,
)
from registry.services.work.target import target_enable
from registry.states import DeviceHealth, JobKind
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
