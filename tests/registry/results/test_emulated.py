"""Emulated and real machines: their builds and speeds are not compared."""

import pytest

from hpcfair import machine
from registry.search.documents import _speeds
from registry.search.schema import ANY
from registry.selectors.results.best import largest_gains
from registry.selectors.search.speeds import speeds_of
from registry.services.results.best import best_builds_update
from registry.services.results.record import record_add
from registry.services.work.attempt import job_succeed
from registry.tables import Build, Target
from tests.registry import shopfloor
from tests.registry.shopfloor import Floor

pytestmark = pytest.mark.django_db


def publish(floor: Floor, target: Target, ratio: float) -> Build:
    """A build of the floor's network on a target, among the best builds."""
    floor.tune()
    ticket = floor.claim()
    document = shopfloor.document(floor.revision, job=ticket.job_uuid)
    record = record_add(job_uuid=ticket.job_uuid, fence=ticket.fence, document=document)
    columns = shopfloor.build(record.pk, f"{ratio}", ratio=ratio)
    job_succeed(job_uuid=ticket.job_uuid, fence=ticket.fence, result={})
    del columns["files"]
    build = Build.objects.create(graph=floor.graph, target=target, **columns)
    best_builds_update(floor.revision.mlmodel)
    return build


@pytest.fixture
def floor() -> Floor:
    return shopfloor.floor()


@pytest.fixture
def emulated(floor: Floor) -> Target:
    features = ("avx2", machine.EMULATED)
    return shopfloor.make_machine("x86-64-avx2-emulated", name="emulator", features=features)[0]


def test_the_largest_gains_are_those_on_real_machines(floor: Floor, emulated: Target) -> None:
    slow, fast = publish(floor, floor.target, 0.8), publish(floor, emulated, 0.1)
    assert largest_gains(None) == [slow]
    assert largest_gains(None, target=emulated) == [fast]


def test_the_fastest_target_of_a_model_is_a_real_one(floor: Floor, emulated: Target) -> None:
    publish(floor, emulated, 0.1)
    mlmodel = floor.revision.mlmodel
    assert speeds_of([mlmodel]) == {}
    assert speeds_of([mlmodel], emulated.slug)[mlmodel.pk].target == emulated.slug
    publish(floor, floor.target, 0.8)
    assert speeds_of([mlmodel])[mlmodel.pk].target == floor.target.slug


def test_a_search_by_speed_finds_it_only_by_its_target(floor: Floor, emulated: Target) -> None:
    publish(floor, emulated, 0.1)
    pk = floor.revision.mlmodel_id
    assert set(_speeds([pk])[pk]) == {emulated.slug}
    publish(floor, floor.target, 0.8)
    assert set(_speeds([pk])[pk]) == {emulated.slug, floor.target.slug, ANY}
