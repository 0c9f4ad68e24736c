"""Claims with the tables: which device gets which job, and why a job waits."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from registry.fairshare import NEW_ACCOUNT
from registry.selectors.work.queue import waits_of
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.device import device_drain, device_register, device_resume
from registry.services.work.job import job_submit
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.services.work.target import target_enable
from registry.states import JobKind
from registry.tables import Device, Graph, Job, JobRequirement, StudyStatistic, User
from tests.registry import shopfloor
from tests.registry.shopfloor import SLUG

pytestmark = pytest.mark.django_db

GIB = 2**30


def machine(name: str, *, memory_gib: int = 0, tools: tuple[str, ...] = ()) -> Device:
    target, _ = shopfloor.make_machine()
    facts = {"architecture": "x86-64", "features": ["avx2"], "memory_bytes": memory_gib * GIB}
    listed = {tool: {tool: "1"} for tool in tools}
    return device_register(name=name, target=target, facts=facts, tools=listed)


def weigh(floor: shopfloor.Floor, gib: float) -> shopfloor.Floor:
    facts = floor.graph.facts | {"weight_bytes": round(gib * GIB)}
    Graph.objects.filter(pk=floor.graph.pk).update(facts=facts)
    return floor


def claim(device: str, **columns: Any) -> str:
    """The model of the job that a device gets; "" if it gets none."""
    ticket = job_claim(
        device_name=device,
        kinds=[JobKind.TUNE, JobKind.SCHEDULE, JobKind.PASSES],
        target=SLUG,
        **columns,
    )
    return ticket.mlmodel if ticket else ""


def reason(job: Job) -> str:
    return waits_of([job])[job.pk].reason


@pytest.fixture
def share(settings: Any) -> None:
    settings.ACCOUNT_SHARE = 0.5


def test_a_network_goes_to_a_device_with_memory_for_it() -> None:
    large = weigh(shopfloor.floor("alice/large"), 5.0).tune()
    shopfloor.floor("alice/small").tune()
    machine("small", memory_gib=8)
    machine("large", memory_gib=64)
    Device.objects.filter(name="floor-1").delete()
    assert large.requirement is not None
    assert large.requirement.memory_bytes == 16 * GIB
    assert claim("small") == "alice/small"
    assert claim("small") == ""
    assert claim("large") == "alice/large"


def test_a_device_that_ends_soon_gets_short_jobs() -> None:
    shopfloor.floor("alice/long").tune(parameters={"budget_s": 200.0})
    shopfloor.floor("alice/short").tune(parameters={"budget_s": 20.0})
    assert claim("floor-1", available_s=30.0) == ""
    assert claim("floor-1", available_s=60.0) == "alice/short"
    assert claim("floor-1", available_s=60.0) == ""
    assert claim("floor-1") == "alice/long"


def test_a_job_goes_to_a_device_with_its_backend_if_there_is_one() -> None:
    floor = shopfloor.floor()
    job = floor.tune(parameters={"backends": ["tvm"]})
    # Nobody lists it: the device that takes the job reports what is missing.
    assert job.requirement is not None
    assert job.requirement.tools == []
    job.delete()
    machine("plain", tools=("onnxruntime",))
    machine("compiler", tools=("onnxruntime", "tvm"))
    job = floor.tune(parameters={"backends": ["tvm"]})
    assert claim("plain") == ""
    Device.objects.filter(name="floor-1").update(state="maintenance")
    assert reason(job) == "next for a free worker"
    first = shopfloor.floor("alice/first").tune(priority=0)
    assert claim("compiler") == first.revision.mlmodel.full_name
    idle = "next for a free worker; of the idle ones no device fits: plain lacks the backend tvm"
    assert reason(job) == idle
    device_resume(actor=None, name="floor-1")
    device_drain(actor=None, name="compiler")
    device_drain(actor=None, name="floor-1")
    assert reason(job) == "no device fits: plain lacks the backend tvm"
    assert claim("floor-1") == ""


def test_jobs_share_few_requirements() -> None:
    for number in range(30):
        budget = 100.0 + number / 10
        shopfloor.floor(f"alice/net{number}").tune(parameters={"budget_s": budget})
    assert JobRequirement.objects.count() == 1


def test_an_account_holds_its_share_of_the_devices(share: None) -> None:
    for number in range(3):
        machine(f"m{number}")
    for number in range(4):
        shopfloor.floor(f"alice/net{number}").tune()
    late = shopfloor.floor("bob/late").tune()
    User.objects.update(date_joined=timezone.now() - 2 * NEW_ACCOUNT)
    models = [claim(f"m{number}") for number in range(3)]
    assert sorted(models) == ["alice/net0", "alice/net1", "bob/late"]
    waiting = Job.objects.filter(state="queued").order_by("id").first()
    assert waiting is not None
    assert reason(waiting) == "its account holds 2 of 4 devices, its share"
    assert claim("floor-1") == ""
    late.refresh_from_db()
    job_succeed(job_uuid=str(late.uuid), fence=late.fence, result={})
    # A job of the account ends: it may hold another device.
    done = Job.objects.filter(state="leased").order_by("id").first()
    assert done is not None
    job_succeed(job_uuid=str(done.uuid), fence=done.fence, result={})
    assert claim("floor-1").startswith("alice/")


def test_a_device_prefers_a_job_on_cached_files() -> None:
    jobs = [shopfloor.floor(f"alice/net{number}").tune() for number in range(4)]
    sha256 = jobs[2].revision.files.get(path="model.onnx").blob_id
    assert claim("floor-1", cached=frozenset({sha256, "f" * 64})) == "alice/net2"
    assert claim("floor-1", cached=frozenset({"f" * 64})) == "alice/net0"
    # Not if it is far behind the first one.
    Job.objects.filter(pk=jobs[3].pk).update(queue_rank=jobs[1].queue_rank + 301)
    sha256 = jobs[3].revision.files.get(path="model.onnx").blob_id
    assert claim("floor-1", cached=frozenset({sha256})) == "alice/net1"


def study(floor: shopfloor.Floor, kind: JobKind) -> Job:
    return job_submit(
        actor=None,
        kind=kind,
        revision=floor.revision,
        target=floor.target,
        priority=BACKGROUND_PRIORITY,
    )


def test_studies_that_improved_networks_of_a_class_come_first() -> None:
    floor = shopfloor.floor()
    # Ten studies of passes without an improvement, and a searched schedule that brought one.
    for number in range(11):
        kind = JobKind.SCHEDULE if number == 10 else JobKind.PASSES
        study(floor, kind)
        ticket = floor.claim(kind)
        if number == 10:
            floor.tune()
        job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    counts = StudyStatistic.objects.order_by("kind").values_list("kind", "ended", "improved")
    assert list(counts) == [("passes", 10, 0), ("schedule", 1, 1)]
    Job.objects.filter(state="queued").delete()
    passes, schedule = study(floor, JobKind.PASSES), study(floor, JobKind.SCHEDULE)
    assert schedule.queue_rank < passes.queue_rank
    assert floor.claim(JobKind.SCHEDULE).job_uuid == str(schedule.uuid)


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ([], "the target has no device"),
        ([("active", "offline")], "no device of the target is online"),
        ([("active", "offline"), ("active", "suspect")], "no device of the target is online"),
        (
            [("draining", "online"), ("active", "offline"), ("draining", "online")],
            "no device of the target is online: 2 draining, 1 offline",
        ),
        ([("maintenance", "online")], "no device of the target is online: 1 maintenance"),
        ([("quarantined", "online")], "no device of the target is online: 1 quarantined"),
        ([("retired", "online")], "the target has no device"),
        ([("active", "online"), ("draining", "online")], "next for a free worker"),
    ],
)
def test_the_state_of_the_devices_is_the_reason(devices: list[tuple[str, str]], text: str) -> None:
    floor = shopfloor.floor()
    job = floor.tune()
    Device.objects.all().delete()
    for number, (state, health) in enumerate(devices):
        machine(f"m{number}")
        Device.objects.filter(name=f"m{number}").update(state=state, health=health)
    Device.objects.filter(name="floor-1").delete()
    assert reason(job) == text


def test_busy_devices_and_disabled_targets_are_reasons() -> None:
    first, second = (shopfloor.floor(f"alice/{name}").tune() for name in ("one", "two"))
    assert claim("floor-1") == "alice/one"
    assert reason(second) == "next for a free worker; the device runs a job"
    machine("m1")
    assert reason(second) == "next for a free worker"
    third = shopfloor.floor("alice/three").tune()
    assert claim("m1") == "alice/two"
    assert reason(third) == "next for a free worker; all 2 devices run jobs"
    target_enable(actor=None, slug=SLUG, enabled=False)
    assert reason(third) == "the target is disabled"
    assert waits_of([first]) == {}


def test_reasons_of_many_jobs_take_few_queries(
    django_assert_max_num_queries: DjangoAssertNumQueries,
) -> None:
    jobs = [shopfloor.floor(f"alice/net{number}").tune() for number in range(20)]
    with django_assert_max_num_queries(8):
        waits_of(jobs)


def test_a_paused_job_says_until_when() -> None:
    job = shopfloor.floor().tune()
    Job.objects.update(not_before=timezone.now() + timedelta(minutes=5))
    job.refresh_from_db()
    assert reason(job).startswith("paused until ")
