"""Builds of a device that is not trusted are not chosen, and are chosen again once it is."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from hpcfair.choice import LoadRequest
from registry.errors import Invalid
from registry.selectors.results.best import BuildChoice, best_build, largest_gains
from registry.selectors.results.confirmation import confirmations_of
from registry.selectors.work.device import device_get
from registry.services.results.reproduction import plan_after_search, reproduction_add
from registry.services.work import rerank
from registry.services.work.attempt import job_claim, job_succeed
from registry.services.work.device import (
    device_maintenance,
    device_quarantine,
    device_resume,
    device_retire,
)
from registry.services.work.enrolment import device_hello
from registry.services.work.healthcheck import device_check_answer, device_check_due
from registry.services.work.reaper import job_reap
from registry.states import DeviceState, JobKind, JobState
from registry.tables import Device, Job, OutboxEntry, Record
from tests.registry import shopfloor
from tests.registry.results.test_reproduction import TOOLS, Shop, published
from tests.registry.work.fleet import FACTS

pytestmark = pytest.mark.django_db

NAME = "floor-1"


@pytest.fixture
def shop() -> Shop:
    return published()


def choice(shop: Shop) -> BuildChoice:
    request = LoadRequest("x86-64", {"avx2"}, {"onnxruntime"}, "exact")
    return best_build(shop.floor.revision, request)


def test_builds_of_a_device_in_quarantine_are_not_chosen(shop: Shop) -> None:
    assert (choice(shop).build, largest_gains(None)) == (shop.fast, [shop.fast])
    device_quarantine(actor=None, name=NAME, reason="its clock stands still")
    chosen = choice(shop)
    assert chosen.build == shop.baseline
    assert "which was measured by a device that is not trusted" in chosen.reason
    told = OutboxEntry.objects.count()
    job_reap()
    assert largest_gains(None) == []
    assert OutboxEntry.objects.count() == told + 1
    assert device_get(NAME).rerank_below is None
    device_resume(actor=None, name=NAME)
    assert choice(shop).build == shop.fast
    job_reap()
    assert largest_gains(None) == [shop.fast]


def test_an_operator_who_takes_it_out_of_quarantine_trusts_it(shop: Shop) -> None:
    device_quarantine(actor=None, name=NAME)
    device_maintenance(actor=None, name=NAME)
    assert choice(shop).build == shop.fast


def test_a_device_that_is_retired_in_quarantine_stays_untrusted(shop: Shop) -> None:
    device_quarantine(actor=None, name=NAME)
    device_retire(actor=None, name=NAME)
    job_reap()
    assert choice(shop).build == shop.baseline
    assert largest_gains(None) == []


def test_builds_of_a_trusted_device_that_is_retired_stay(shop: Shop) -> None:
    device_retire(actor=None, name=NAME)
    job_reap()
    assert choice(shop).build == shop.fast
    assert largest_gains(None) == [shop.fast]


def test_results_of_a_device_that_failed_still_count(shop: Shop) -> None:
    Device.objects.update(failures_in_row=5, public_key="a key")
    shop.floor.tune()
    shop.floor.claim()
    leased = Job.objects.filter(state=JobState.LEASED)
    leased.update(lease_until=timezone.now() - timedelta(seconds=1))
    job_reap()
    assert device_get(NAME).state == DeviceState.QUARANTINED
    assert choice(shop).build == shop.fast
    # An offence in quarantine ends the trust.
    with pytest.raises(Invalid):
        device_hello(
            device=device_get(NAME), facts=FACTS | {"cores": -3}, tools={}, agent_version="1"
        )
    assert choice(shop).build == shop.baseline


@pytest.mark.parametrize(("outputs", "is_trusted"), [({"onnxruntime": [0]}, False), ({}, True)])
def test_results_count_after_a_health_check_unless_its_outputs_are_wrong(
    shop: Shop, outputs: dict[str, list[int]], *, is_trusted: bool
) -> None:
    Device.objects.update(public_key="a key")
    check = device_check_due(device_get(NAME))
    assert check is not None
    device = device_check_answer(device=device_get(NAME), seed=check.seed, outputs=outputs)
    assert device.state == DeviceState.QUARANTINED
    assert (choice(shop).build == shop.fast) is is_trusted


def test_models_are_ranked_in_batches(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shops = [shop, published("alice/two"), published("alice/three")]
    monkeypatch.setattr(rerank, "AT_ONCE", 1)
    monkeypatch.setattr(rerank, "_ROUNDS", 2)
    device_quarantine(actor=None, name=NAME)
    job_reap()
    assert largest_gains(None) == [shops[0].fast]
    # Another change of trust starts again with the newest model.
    device_resume(actor=None, name=NAME)
    job_reap()
    assert set(largest_gains(None)) == {one.fast for one in shops}
    device_quarantine(actor=None, name=NAME)
    job_reap()
    job_reap()
    assert largest_gains(None) == []


def test_an_untrusted_device_confirms_nothing(shop: Shop) -> None:
    _, second = shopfloor.make_machine(name="floor-2")
    reproduce(shop, second)
    record = Record.objects.get(pk=shop.fast.record_id)
    assert list(confirmations_of([record])[record.pk]) == [second]
    device_quarantine(actor=None, name=second.name)
    assert record.pk not in confirmations_of([record])
    # The builds of the first device are still chosen.
    assert choice(shop).build == shop.fast


def test_an_untrusted_device_takes_no_build_from_others(shop: Shop) -> None:
    _, second = shopfloor.make_machine(name="floor-2")
    reproduce(shop, second, "differs")
    assert choice(shop).build == shop.baseline
    assert largest_gains(None) == []
    device_quarantine(actor=None, name=second.name)
    assert choice(shop).build == shop.fast
    job_reap()
    assert largest_gains(None) == [shop.fast]


def reproduce(shop: Shop, device: Device, outcome: str = "reproduced") -> None:
    """A device runs the faster build."""
    plan_after_search(job_uuid=str(shop.search.uuid))
    ticket = job_claim(device_name=device.name, kinds=[JobKind.REPRODUCE], target=shopfloor.SLUG)
    assert ticket is not None
    held: dict[str, Any] = {"job_uuid": ticket.job_uuid, "fence": ticket.fence}
    reproduction_add(str(shop.fast.uuid), **held, tools=TOOLS, outcome=outcome)
    job_succeed(**held, result={})
