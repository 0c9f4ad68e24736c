"""What is planned, and for whom."""

import pytest

from registry.errors import Forbidden, Invalid, NotFound
from registry.services.plan import plan, plan_catch_up
from registry.services.target import target_enable
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


def test_what_was_searched_there_once_is_not_searched_again() -> None:
    floor = shopfloor.floor()
    floor.tune()
    assert plan_catch_up(target=floor.target) == []
