"""The reads of the fleet's pages and metrics: devices, jobs, queue, leases, failures, fairness."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from registry.selectors.work.fleet import (
    counts_by_target,
    devices_in,
    failures,
    leases,
    queue_of,
    state_of,
    work_of,
)
from registry.selectors.work.metrics import fleet_figures, jain_index, percentile
from registry.selectors.work.target import targets
from registry.services.work.attempt import job_fail, job_succeed
from registry.services.work.reaper import job_reap
from registry.states import DeviceHealth, DeviceState, FailureClass
from registry.tables import Device, Job, JobAttempt
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

NOBODY = AnonymousUser()


@pytest.fixture
def floor(db: None) -> Floor:
    return shopfloor.floor()


def lose_lease() -> None:
    Job.objects.filter(state="leased").update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()


def test_the_state_of_a_device_comes_before_its_health(floor: Floor) -> None:
    device = floor.device
    assert state_of(device) == "online"
    device.health = DeviceHealth.OFFLINE
    assert state_of(device) == "offline"
    device.state = DeviceState.QUARANTINED
    assert state_of(device) == "quarantined"


def test_devices_are_filtered_by_target_state_and_name(floor: Floor) -> None:
    shopfloor.make_machine("x86-64-avx2", name="Rack-7")
    _, retired = shopfloor.make_machine(name="floor-2")
    Device.objects.filter(pk=retired.pk).update(state=DeviceState.RETIRED)
    Device.objects.filter(name="Rack-7").update(health=DeviceHealth.SUSPECT)

    def names(**filters: str) -> list[str]:
        return [device.name for device in devices_in(**filters)]

    assert names() == ["floor-1", "Rack-7"]
    assert names(target="x86-64-avx2") == ["Rack-7"]
    assert names(name="rack") == ["Rack-7"]
    assert names(state="suspect") == ["Rack-7"]
    assert names(state="retired") == ["floor-2"]
    assert names(state="draining") == []


def test_targets_are_counted_by_state_with_what_waits(floor: Floor) -> None:
    shopfloor.make_machine(name="floor-2")
    Device.objects.filter(name="floor-2").update(state=DeviceState.DRAINING)
    floor.tune()
    (before,) = counts_by_target(targets())
    floor.claim()
    (after,) = counts_by_target(targets())
    assert (before.states, before.total, before.busy, before.waiting) == (
        {"online": 1, "draining": 1},
        2,
        0,
        1,
    )
    assert (after.busy, after.waiting, after.is_counted) == (1, 0, True)


def test_private_jobs_are_shown_as_such(db: None) -> None:
    floor = shopfloor.floor("alice/secret", private=True)
    floor.tune()
    assert queue_of(NOBODY) == []
    ((job, wait),) = queue_of(floor.alice)
    assert wait is not None
    assert wait.reason == "next for a free worker"
    floor.claim()
    for actor, is_hidden in ((NOBODY, True), (floor.alice, False)):
        (work,) = work_of(actor, [floor.device])
        (lease,) = leases(actor)
        assert (work.job, work.is_hidden) == (job, is_hidden)
        assert (lease.job, lease.is_hidden) == (job, is_hidden)
        assert 0 < lease.left_s <= 45


def test_the_queue_is_in_the_order_of_positions(floor: Floor) -> None:
    jobs = [shopfloor.floor(f"owner{number}/net").tune() for number in range(3)]
    placed = queue_of(NOBODY, floor.target)
    assert [wait.position for _, wait in placed if wait] == [1, 2, 3]
    assert {job.pk for job, _ in placed} == {job.pk for job in jobs}


def test_failures_are_counted_by_class_and_target(floor: Floor) -> None:
    floor.tune()
    floor.claim()
    lose_lease()
    ticket = floor.claim()
    held = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    job_fail(**held, failure_class=FailureClass.TIMEOUT, code="job_interrupted", detail="slow")
    shown = [(row.reason, row.target, row.count, row.devices) for row in failures()]
    assert shown == [
        ("lease lost", shopfloor.SLUG, 1, 1),
        ("timeout", shopfloor.SLUG, 1, 1),
    ]
    JobAttempt.objects.update(ended_at=timezone.now() - timedelta(hours=25))
    assert failures(floor.target) == []


def test_figures_have_waits_fairness_starvation_and_lost_leases(floor: Floor) -> None:
    floor.tune()
    Job.objects.update(notified_at=timezone.now() - timedelta(seconds=50))
    starving = fleet_figures()
    assert starving.queues[f"target.{shopfloor.SLUG}"].waiting == 1
    assert 50 <= starving.starvation_s < 80
    assert starving.fairness is None
    floor.claim()
    running = fleet_figures()
    assert running.queues[f"target.{shopfloor.SLUG}"].running == 1
    assert running.starvation_s == 0.0
    assert 50 <= running.waits_s["interactive"][1] < 80
    lose_lease()
    ticket = floor.claim()
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    done = fleet_figures()
    assert done.ends["lost", "infrastructure"] == 1
    assert done.ends["succeeded", ""] == 1
    assert done.fairness == pytest.approx(1.0)
    assert done.devices == {(shopfloor.SLUG, "active", "online"): 1}
    assert 0 < done.utilisation[shopfloor.SLUG] <= 1


@given(st.lists(st.just(0.0) | st.floats(1e-3, 1e6), min_size=1, max_size=30))
def test_jains_index_is_between_one_nth_and_one(values: list[float]) -> None:
    index = jain_index(values)
    if not any(values):
        assert index is None
        return
    assert index is not None
    assert 1 / len(values) - 1e-9 <= index <= 1 + 1e-9
    assert jain_index([3.0] * len(values)) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [([1.0], 0.95, 1.0), ([1.0, 2.0], 0.5, 2.0), (list(range(100)), 0.95, 95)],
)
def test_percentiles_are_values_that_occurred(
    values: list[Any], share: float, expected: float
) -> None:
    assert percentile(values, share) == expected
