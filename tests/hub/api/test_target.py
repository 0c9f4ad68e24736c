"""Targets and devices over HTTP."""

import pytest
from pytest_django import DjangoAssertNumQueries

from registry.states import Scope
from registry.tables import User
from tests.factories import make_user
from tests.hub.api.client import Api
from tests.registry import shopfloor


@pytest.fixture
def floor(db: None) -> None:
    for number in range(3):
        shopfloor.make_machine(f"x86-64-v{number}", name=f"node {number}/a", rank=number)


def test_targets_are_listed_by_name(
    anonymous: Api, floor: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(1):
        listed = anonymous.get("targets").ok()["items"]
    assert [target["slug"] for target in listed] == ["x86-64-v0", "x86-64-v1", "x86-64-v2"]
    assert anonymous.all("targets", limit=2) == listed
    assert anonymous.get("targets/x86-64-v1").ok() == listed[1]


def test_an_unknown_target_is_not_found(anonymous: Api) -> None:
    assert anonymous.get("targets/nothing").code == "target_not_found"


def test_only_staff_switches_a_target_off(as_alice: Api, alice: User, floor: None) -> None:
    path, off = "targets/x86-64-v1", {"enabled": False}
    assert as_alice.patch(path, off).code == "scope_missing"
    assert Api(alice, Scope.ADMIN).patch(path, off).code == "permission_denied"
    staff = Api(make_user("dana", is_staff=True), Scope.ADMIN)
    assert staff.patch(path, off).ok()["enabled"] is False
    assert staff.patch("targets/nothing", off).code == "target_not_found"
    assert staff.patch(path, {}).code == "invalid_request"
    assert as_alice.get(path).ok()["enabled"] is False


def test_devices_are_listed_by_name(
    anonymous: Api, floor: None, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(2):
        listed = anonymous.get("devices").ok()["items"]
    assert [device["name"] for device in listed] == ["node 0/a", "node 1/a", "node 2/a"]
    assert listed[0]["target"] == "x86-64-v0"
    assert listed[0]["health"] == "online"
    assert listed[0]["facts"] == {"cores": 2}
    assert anonymous.all("devices", limit=2) == listed
    assert anonymous.get("devices/node 0/a").ok() == listed[0]


def test_an_unknown_device_is_not_found(anonymous: Api, alice: User) -> None:
    assert anonymous.get("devices/nothing").code == "device_not_found"
