"""Enrolment of devices without a network by a file."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser

from hpcfair import machine
from hpcfair.bundle import IDENTITY_SCHEMA, IDENTITY_TYPE, RESULTS_TYPE
from registry.errors import Conflict, Invalid, NotFound, Unauthenticated
from registry.services.work.bundleidentity import bundle_enrol
from registry.states import DeviceHealth
from registry.tables import AuditEntry, Device
from tests.programs import needs
from workers.agent.devicekey import DeviceKey

pytestmark = [pytest.mark.django_db, needs("cryptography")]


def identity(key: DeviceKey, path: Path, kind: str = IDENTITY_TYPE, **changes: Any) -> Path:
    """The file of a device."""
    payload = {
        "schema": IDENTITY_SCHEMA,
        "name": "cave-1",
        "public_key": key.public_pem,
        "target": None,
        "facts": machine.describe().to_dict(),
        "tools": {"onnxruntime": {"onnxruntime": "1.31"}},
        "agent_version": "1",
        **changes,
    }
    path.write_text(json.dumps(key.envelope(payload, kind)))
    return path


@pytest.fixture
def key(tmp_path: Path) -> DeviceKey:
    return DeviceKey.in_folder(tmp_path / "agent")


def test_a_device_is_enrolled_with_its_key_and_target(key: DeviceKey, tmp_path: Path) -> None:
    device = bundle_enrol(actor=None, path=identity(key, tmp_path / "identity"))
    assert (device.name, device.public_key) == ("cave-1", key.public_pem)
    assert device.target.slug == machine.target_of(machine.describe()).slug
    assert device.health == DeviceHealth.OFFLINE
    assert AuditEntry.objects.filter(action="device.enrol", subject="cave-1").exists()
    # Again, after a change of the machine.
    assert bundle_enrol(actor=None, path=identity(key, tmp_path / "identity")) == device


def test_another_key_does_not_take_over_a_device(key: DeviceKey, tmp_path: Path) -> None:
    bundle_enrol(actor=None, path=identity(key, tmp_path / "identity"))
    another = DeviceKey.in_folder(tmp_path / "another")
    with pytest.raises(Conflict) as refusal:
        bundle_enrol(actor=None, path=identity(another, tmp_path / "identity"))
    assert refusal.value.code == "device_exists"
    assert Device.objects.get().public_key == key.public_pem


def test_an_unknown_target_is_refused(key: DeviceKey, tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        bundle_enrol(actor=None, path=identity(key, tmp_path / "identity", target="none-such"))
    assert not Device.objects.exists()


def test_only_operators_enrol(key: DeviceKey, tmp_path: Path) -> None:
    with pytest.raises(Unauthenticated):
        bundle_enrol(actor=AnonymousUser(), path=identity(key, tmp_path / "identity"))


def test_a_key_that_did_not_sign_is_refused(key: DeviceKey, tmp_path: Path) -> None:
    another = DeviceKey.in_folder(tmp_path / "another")
    path = identity(key, tmp_path / "identity", public_key=another.public_pem)
    with pytest.raises(Invalid, match="not signed by the key of this device"):
        bundle_enrol(actor=None, path=path)


def test_a_signature_over_something_else_is_refused(key: DeviceKey, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="its type is"):
        bundle_enrol(actor=None, path=identity(key, tmp_path / "identity", RESULTS_TYPE))


@pytest.mark.parametrize(
    "changes",
    [
        {"schema": "x"}, {"name": ""}, {"name": 1}, {"target": ""}, {"facts": []},
        {"tools": {"x": 1}}, {"more": 1},
    ],
)  # fmt: skip
def test_malformed_descriptions_are_refused(
    key: DeviceKey, tmp_path: Path, changes: dict[str, Any]
) -> None:
    with pytest.raises(Invalid) as refusal:
        bundle_enrol(actor=None, path=identity(key, tmp_path / "identity", **changes))
    assert refusal.value.code == "invalid_bundle"
    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"", lambda _: b"{}", lambda _: b"[" * 10_000, lambda text: text[:-9],
        lambda text: text + b" " * 2**20, lambda text: text.replace(b'"sig": "', b'"sig": "A'),
    ],
)  # fmt: skip
def test_files_that_are_not_identities_are_refused(
    key: DeviceKey, tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    path = identity(key, tmp_path / "identity")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(Invalid) as refusal:
        bundle_enrol(actor=None, path=path)
    assert refusal.value.code == "invalid_bundle"
