"""Machines and their kinds."""

from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from registry.errors import Invalid, NotFound
from registry.selectors.work.device import device_get, devices
from registry.services.work.device import device_check, device_register, device_seen
from registry.states import DeviceHealth, DeviceState
from registry.tables import AuditEntry, Device
from tests.registry import shopfloor

pytestmark = pytest.mark.django_db


def silent_for(device: Device, seconds: float) -> DeviceHealth:
    Device.objects.update(last_seen_at=timezone.now() - timedelta(seconds=seconds))
    device_check()
    device.refresh_from_db()
    return DeviceHealth(device.health)


def test_a_device_registers_again_and_again() -> None:
    target, device = shopfloor.make_machine()
    again = device_register(name=device.name, target=target, facts={"cores": 64})
    assert again == device
    assert list(devices()) == [device]
    assert device_get(device.name).facts == {"cores": 64}
    assert AuditEntry.objects.filter(action="device.register").count() == 1


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "line\nbreak", "nul\0"])
def test_an_odd_name_is_refused(name: str) -> None:
    target, _ = shopfloor.make_machine()
    with pytest.raises(Invalid) as caught:
        device_register(name=name, target=target, facts={})
    assert caught.value.code == "invalid_name"


def test_facts_must_be_storable() -> None:
    target, _ = shopfloor.make_machine()
    with pytest.raises(Invalid):
        device_register(name="n", target=target, facts={"load": float("inf")})


def test_an_unknown_device_is_not_found() -> None:
    with pytest.raises(NotFound):
        device_get("nobody")


def test_a_device_falls_silent_by_steps_and_comes_back(settings: object) -> None:
    settings.JOB_LEASE_S = 1000  # type: ignore[attr-defined]
    _, device = shopfloor.make_machine()
    assert silent_for(device, 1500) == DeviceHealth.ONLINE
    assert silent_for(device, 2500) == DeviceHealth.SUSPECT
    assert silent_for(device, 4500) == DeviceHealth.OFFLINE
    assert silent_for(device, 2500) == DeviceHealth.OFFLINE
    device_seen(device=device)
    device.refresh_from_db()
    assert device.health == DeviceHealth.ONLINE


def test_a_device_never_seen_is_offline() -> None:
    _, device = shopfloor.make_machine()
    Device.objects.update(last_seen_at=None)
    device_check()
    device.refresh_from_db()
    assert device.health == DeviceHealth.OFFLINE


def test_signs_of_life_in_quick_succession_are_one_write(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    device = shopfloor.make_machine()[1]
    device_seen(device=device)
    device.refresh_from_db()
    with django_assert_num_queries(0):
        device_seen(device=device)
    device.last_seen_at = timezone.now() - timedelta(seconds=settings.JOB_LEASE_S) * 0.6
    with django_assert_num_queries(1):
        device_seen(device=device)
    device.health = DeviceHealth.SUSPECT
    device.state = DeviceState.DRAINING
    with django_assert_num_queries(1):
        device_seen(device=device)
