"""Changes of devices, codes and definitions of targets over HTTP."""

from typing import Any

import pytest

from registry.states import Scope
from registry.tables import Device, DeviceCode, Target, User
from tests.factories import make_user
from tests.hub.api.client import Api
from tests.registry import shopfloor
from tests.registry.work.fleet import enrol

SVE = {"architecture": "arm64", "features": ["asimd", "sve"], "rank": 15, "cores": 4}


@pytest.fixture
def staff(db: None) -> Api:
    return Api(make_user("dana", is_staff=True), Scope.ADMIN)


@pytest.fixture
def device(db: None) -> Device:
    return shopfloor.make_machine(name="node 1/a")[1]


def test_a_device_shows_its_state_and_its_owner(
    anonymous: Api, alice: User, device: Device
) -> None:
    shown = anonymous.get("devices/node 1/a").ok()
    assert (shown["state"], shown["owner"], shown["agent_version"]) == ("active", None, "")
    enrolled, token = enrol(owner=alice)
    shown = anonymous.get("devices/bench-1").ok()
    assert (shown["uuid"], shown["owner"]) == (str(enrolled.uuid), "alice")
    assert token not in str(shown)
    assert "key" not in str(shown)


def test_staff_drains_and_resumes_a_device(staff: Api, device: Device) -> None:
    path = "devices/node 1/a"
    drained = staff.patch(path, {"state": "draining", "reason": "new memory"}).ok()
    assert (drained["state"], drained["reason"]) == ("draining", "new memory")
    assert staff.patch(path, {"state": "active"}).ok()["state"] == "active"
    assert staff.patch(path, {"state": "retired"}).ok()["state"] == "retired"
    assert staff.patch(path, {"state": "active"}).code == "invalid_state"
    assert staff.patch(path, {"state": "broken"}).code == "invalid_request"
    assert staff.patch(path, {}).code == "invalid_request"
    assert staff.patch("devices/nothing", {"state": "draining"}).code == "device_not_found"


def test_other_people_change_only_their_own_devices(
    anonymous: Api, as_alice: Api, alice: User, device: Device
) -> None:
    drain = {"state": "draining"}
    enrol(owner=alice)
    admin = Api(alice, Scope.ADMIN)
    assert anonymous.patch("devices/bench-1", drain).code == "not_authenticated"
    assert as_alice.patch("devices/bench-1", drain).code == "scope_missing"
    assert admin.patch("devices/node 1/a", drain).code == "permission_denied"
    assert admin.patch("devices/bench-1", drain).ok()["state"] == "draining"
    assert admin.patch("devices/bench-1", {"state": "quarantined"}).code == "permission_denied"


def test_staff_issues_codes(staff: Api, as_alice: Api, alice: User, device: Device) -> None:
    body: dict[str, Any] = {"target": shopfloor.SLUG, "owner": "alice"}
    answer = staff.post("device-codes", body)
    assert len(answer.ok(201)["code"]) == 19
    code = DeviceCode.objects.get()
    assert (code.owner, code.target) == (alice, device.target)
    assert staff.post("device-codes", {"target": "pdp-11"}).code == "target_not_found"
    assert staff.post("device-codes", {"owner": "nobody"}).code == "user_not_found"
    assert Api(alice, Scope.ADMIN).post("device-codes", {}).code == "permission_denied"
    assert staff.post("device-codes", {}).status == 201


def test_staff_registers_targets(staff: Api, alice: User) -> None:
    saved = staff.put("targets/arm64-sve", SVE).ok()
    assert (saved["features"], saved["cores"], saved["is_emulated"]) == (["asimd", "sve"], 4, False)
    assert Api(alice, Scope.ADMIN).put("targets/arm64-sve", SVE).code == "permission_denied"
    assert staff.put("targets/ARM", SVE).code == "invalid_target"
    refused = staff.put("targets/arm64-sve", SVE | {"memory_bytes": -1})
    assert refused.code == "invalid_target"
    document = {"machine": {"cores": 2}, "targets": [SVE | {"slug": name} for name in ("a", "b")]}
    answer = staff.post("targets", document)
    assert [row["slug"] for row in answer.ok(201)] == ["a", "b"]
    assert staff.post("targets", {"targets": []}).code == "invalid_request"
    assert Target.objects.count() == 3
