"""Catch-up jobs of targets and devices, queued in batches."""

import pytest

from registry.errors import Invalid
from registry.selectors.work.device import device_get
from registry.services.work import catchup
from registry.services.work.catchup import plan_catch_up, plan_recheck
from registry.services.work.device import device_drain, device_resume, device_seen
from registry.services.work.enrolment import device_hello
from registry.services.work.plan import plan
from registry.services.work.reaper import job_reap
from registry.services.work.target import target_enable
from registry.states import DeviceHealth, JobKind, JobState
from registry.tables import Device, Job, Target
from tests.registry import shopfloor
from tests.registry.results.test_reproduction import TOOLS, published
from tests.registry.work.fleet import FACTS, enrol

pytestmark = pytest.mark.django_db


@pytest.fixture
def one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catchup, "AT_ONCE", 1)


def hello(device: Device) -> None:
    device_hello(device=device, facts=FACTS, tools={}, agent_version="1")


def searched(target: Target) -> list[str]:
    """Models with a search on a target, in the order of the submissions."""
    jobs = Job.objects.filter(kind=JobKind.TUNE, target=target).order_by("id")
    return [job.revision.mlmodel.full_name for job in jobs]


@pytest.mark.usefixtures("one_at_a_time")
def test_the_newest_models_come_first_and_the_reaper_continues() -> None:
    for name in ("alice/one", "alice/two", "alice/three"):
        shopfloor.floor(name)
    device, _ = enrol()
    hello(device)
    assert searched(device.target) == ["alice/three"]
    job_reap()
    assert searched(device.target) == ["alice/three", "alice/two", "alice/one"]
    device.target.refresh_from_db()
    assert device.target.catch_up_below is None


@pytest.mark.usefixtures("one_at_a_time")
def test_a_call_of_the_reaper_queues_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catchup, "_ROUNDS", 1)
    for name in ("alice/one", "alice/two", "alice/three"):
        shopfloor.floor(name)
    target, _ = shopfloor.make_machine("arm64-generic", name="other")
    assert len(plan_catch_up(target=target)) == 1
    for count in (2, 3, 3):
        job_reap()
        assert len(searched(target)) == count


def test_a_device_that_comes_back_starts_the_catch_up() -> None:
    device, _ = enrol()
    hello(device)
    Device.objects.update(health=DeviceHealth.OFFLINE)
    floor = shopfloor.floor()
    Device.objects.filter(pk=floor.device.pk).delete()
    with pytest.raises(Invalid):
        plan(actor=None, revision=floor.revision)
    job_reap()
    assert searched(device.target) == []
    device_seen(device=device_get(device.name))
    job_reap()
    assert searched(device.target) == ["alice/squeezenet"]


def test_a_resumed_device_starts_the_catch_up() -> None:
    device, _ = enrol()
    hello(device)
    device_drain(actor=None, name=device.name)
    shopfloor.floor()
    job_reap()
    assert searched(device.target) == []
    device_resume(actor=None, name=device.name)
    job_reap()
    assert searched(device.target) == ["alice/squeezenet"]


def test_an_enabled_target_starts_the_catch_up() -> None:
    device, _ = enrol()
    target_enable(actor=None, slug=device.target.slug, enabled=False)
    shopfloor.floor()
    hello(device_get(device.name))
    assert searched(device.target) == []
    target_enable(actor=None, slug=device.target.slug, enabled=True)
    job_reap()
    assert searched(device.target) == ["alice/squeezenet"]


def test_a_target_that_is_served_has_nothing_to_catch_up_with() -> None:
    device, _ = enrol()
    hello(device)
    second, _ = enrol("bench-2")
    shopfloor.floor()
    for step in (hello, lambda row: device_seen(device=row)):
        step(device_get(second.name))
        job_reap()
    assert searched(device.target) == []


@pytest.mark.usefixtures("one_at_a_time")
def test_builds_run_again_with_changed_tools_a_few_at_a_time() -> None:
    shops = [published("alice/one"), published("alice/two")]
    device = shops[0].floor.device
    Device.objects.filter(pk=device.pk).update(tools={"onnxruntime": TOOLS})

    def rechecked() -> list[str]:
        jobs = Job.objects.filter(kind=JobKind.REPRODUCE, state=JobState.QUEUED).order_by("id")
        return [job.revision.mlmodel.full_name for job in jobs]

    device_drain(actor=None, name=device.name)
    plan_recheck(device=device)
    job_reap()
    assert rechecked() == []
    device_resume(actor=None, name=device.name)
    job_reap()
    assert rechecked() == ["alice/two", "alice/one"]
    device.refresh_from_db()
    assert device.recheck_below is None
