"""Roofs of devices: speeds follow from raw samples, impossible ones are refused."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from hpcfair.tickets import JobTicket
from registry import schemas
from registry.errors import Conflict, Invalid
from registry.selectors.analysis.roof import roofs_for, roofs_of_device, roofs_of_target
from registry.services.analysis.roof import roof_of
from registry.services.work.operations import job_read, job_write
from registry.tables import Build, Device, Job, Record, Roof, RoofSet
from tests.registry import shopfloor
from tests.registry.agents import Machine, machine
from tests.registry.analysis.roofs import columns, compute, memory, rounds
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def ticket(floor: Floor) -> JobTicket:
    floor.tune()
    return floor.claim()


def write(ticket: JobTicket, *, number: int = 1, **values: Any) -> None:
    job_write(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        name="roofs_store",
        columns=values,
        number=number,
    )


def known_tools(ticket: JobTicket) -> Any:
    return job_read(job_uuid=ticket.job_uuid, fence=ticket.fence, name="roof_tools", parameters={})


def test_the_speed_follows_from_the_samples_and_the_work(floor: Floor, ticket: JobTicket) -> None:
    # 2 * 4 * 512**3 operations in 10 ms; 3 arrays of 64 MiB in 20 ms.
    write(ticket, **columns([compute(size=512, layers=4, ms=10), memory(ms=20)]))
    roofs = roofs_of_device(floor.device)
    assert roofs is not None
    assert roofs.peak("float32") == pytest.approx(2 * 4 * 512**3 / 0.010)
    assert roofs.bandwidth == pytest.approx(3 * 64 * 2**20 / 0.020)
    assert roofs.ridge("float32") == pytest.approx(roofs.peak("float32") / roofs.bandwidth)
    assert roofs.peak("bfloat16") is None
    assert roofs.roof_set.job == Job.objects.get(uuid=ticket.job_uuid)


def test_tools_that_were_measured_are_listed(ticket: JobTicket) -> None:
    assert known_tools(ticket) == []
    write(ticket, **columns([compute()], tools={"onnxruntime": {"onnxruntime": "1"}}))
    assert known_tools(ticket) == [schemas.sha256_of({"onnxruntime": {"onnxruntime": "1"}})]


def test_disturbed_rounds_do_not_count(ticket: JobTicket) -> None:
    slow, calm = rounds(40, is_disturbed=True), rounds(10)
    roof = roof_of(compute(rounds=[*slow, *calm]))
    assert roof.low == roof.high == roof.per_second == pytest.approx(2 * 4 * 512**3 / 0.010)
    assert not roof.is_disturbed


def test_roofs_of_a_disturbed_machine_say_so() -> None:
    assert roof_of(compute(rounds=rounds(10, is_disturbed=True))).is_disturbed


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=20))
def test_a_roof_is_never_above_its_fastest_sample(samples_ns: list[int]) -> None:
    each = [{"samples_ns": [ns], "is_disturbed": False} for ns in samples_ns]
    roof = roof_of(compute(rounds=each))
    assert roof.per_second == pytest.approx(roof.work / min(samples_ns) * 1e9)
    assert roof.low <= roof.per_second <= roof.high


def test_the_fastest_undisturbed_method_is_the_roof(floor: Floor, ticket: JobTicket) -> None:
    fast = compute(ms=5, backend="openvino")
    disturbed = compute(rounds=rounds(1, is_disturbed=True), backend="litert")
    write(ticket, **columns([compute(ms=10), fast, disturbed]))
    roofs = roofs_of_device(floor.device)
    assert roofs is not None
    assert roofs.compute["float32"].backend == "openvino"
    assert Roof.objects.count() == 1


def test_a_measurement_without_a_roof_is_not_repeated(floor: Floor, ticket: JobTicket) -> None:
    write(ticket, **columns([], notes=["openvino crashed"]))
    assert len(known_tools(ticket)) == 1
    assert roofs_of_device(floor.device) is None
    assert RoofSet.objects.get().notes == ["openvino crashed"]


def test_disturbed_roofs_are_measured_again_hours_later_and_not_for_ever(
    ticket: JobTicket,
) -> None:
    disturbed = compute(rounds=rounds(10, is_disturbed=True))
    for number in range(1, 4):
        write(ticket, number=number, **columns([disturbed, memory()]))
        assert len(known_tools(ticket)) == 1, "not in each job of a busy hour"
        RoofSet.objects.update(created_at=timezone.now() - timedelta(hours=7))
        assert known_tools(ticket) == []
    write(ticket, number=4, **columns([disturbed, memory()]))
    RoofSet.objects.update(created_at=timezone.now() - timedelta(hours=7))
    assert len(known_tools(ticket)) == 1, "the machine is always busy"


def test_roofs_that_nothing_disturbed_are_measured_once(ticket: JobTicket) -> None:
    write(ticket, **columns([compute(), memory()]))
    RoofSet.objects.update(created_at=timezone.now() - timedelta(days=400))
    assert len(known_tools(ticket)) == 1


def test_newer_roofs_replace_older_ones(floor: Floor, ticket: JobTicket) -> None:
    write(ticket, **columns([compute(ms=10)], tools={"a": {"a": "1"}}))
    job_write(
        job_uuid=ticket.job_uuid,
        fence=ticket.fence,
        name="roofs_store",
        columns=columns([compute(ms=5)], tools={"a": {"a": "2"}}),
    )
    roofs = roofs_of_target(floor.target)
    assert roofs is not None
    assert roofs.peak("float32") == pytest.approx(2 * 4 * 512**3 / 0.005)
    assert len(known_tools(ticket)) == 2


def test_a_lost_lease_stores_nothing(ticket: JobTicket) -> None:
    with pytest.raises(Conflict):
        job_write(
            job_uuid=ticket.job_uuid,
            fence=ticket.fence + 1,
            name="roofs_store",
            columns=columns([compute()]),
        )
    assert not RoofSet.objects.exists()


@pytest.mark.parametrize(
    "roof",
    [
        compute(precision="float3"),
        compute(size=0),
        compute(rounds=[]),
        memory(level="moon"),
        {**compute(), "level": "memory"},
        {**compute(), "per_second": 1e30},
        memory(rounds=[{"samples_ns": [-5], "is_disturbed": False}]),
    ],
)
def test_malformed_roofs_are_refused(ticket: JobTicket, roof: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        write(ticket, **columns([roof]))
    assert not RoofSet.objects.exists()


class TestADevice:
    """Other machines than the hub's own are not trusted."""

    @pytest.fixture
    def agent(self, floor: Floor) -> Machine:
        return machine(floor.target)

    @pytest.fixture
    def ticket(self, floor: Floor, agent: Machine) -> JobTicket:
        floor.tune()
        return agent.claim()

    @pytest.mark.parametrize(
        "values",
        [
            columns([compute(size=65_536, layers=1000, ms=1e-3)]),
            columns([memory(bytes=2**40, ms=1e-3)]),
            columns([compute(ms=10_000_000)]),
            {**columns([compute()]), "tools_sha256": "0" * 64},
        ],
        ids=["arithmetic", "memory", "time", "digest"],
    )
    def test_impossible_roofs_are_refused(
        self, agent: Machine, ticket: JobTicket, values: dict[str, Any]
    ) -> None:
        with pytest.raises(Invalid) as error:
            agent.write(ticket, "roofs_store", 1, **values)
        assert error.value.code == "impossible_result"
        assert not RoofSet.objects.exists()

    def test_roofs_of_a_distrusted_device_count_for_nobody(
        self, floor: Floor, agent: Machine, ticket: JobTicket
    ) -> None:
        agent.write(ticket, "roofs_store", 1, **columns([compute()]))
        assert roofs_of_target(floor.target) is not None
        Device.objects.update(is_trusted=False)
        assert roofs_of_target(floor.target) is None


def test_a_build_is_held_against_the_device_that_measured_it(floor: Floor) -> None:
    for name, ms in (("floor-1", 10), ("floor-2", 5)):
        shopfloor.make_machine(name=name)
        device = Device.objects.get(name=name)
        roof_set = RoofSet.objects.create(device=device, tools_sha256="d" * 64, took_s=1)
        roof = roof_of(compute(ms=ms))
        roof.roof_set = roof_set
        roof.save()
    record = Record(device=Device.objects.get(name="floor-1"))
    build = Build(record=record, target=floor.target)
    own = roofs_for(build)
    assert own is not None
    assert own.device.name == "floor-1"
    record.device = None
    newest = roofs_for(build)
    assert newest is not None
    assert newest.device.name == "floor-2"
