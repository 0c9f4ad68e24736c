"""Reads of devices."""

from django.db.models import QuerySet

from registry.errors import NotFound, Unauthenticated
from registry.ids import parse_uuid
from registry.selectors.people.account import secret_digest
from registry.states import DeviceHealth, DeviceState
from registry.tables import Device

#: First letters of the tokens of devices.
DEVICE_TOKEN_PREFIX = "hpd_"  # noqa: S105 - not a secret


def device_get(name: str) -> Device:
    """The device of that name, with its target and owner. Raises ``NotFound``:
    ``device_not_found``."""
    device = devices().filter(name=name).first()
    if device is None:
        raise NotFound(
            "device_not_found",
            f"There is no device {name[:200]!r}.",
            "A device is registered when its worker starts, or when its machine is enrolled.",
        )
    return device


def device_by_uuid(uuid: str) -> Device:
    """The device of that UUID, with target and owner. Raises ``NotFound``: ``device_not_found``."""
    row = devices().filter(uuid=parse_uuid(uuid)).first()
    if row is None:
        raise NotFound("device_not_found", f"There is no device {uuid[:64]!r}.")
    return row


def device_of_token(secret: str) -> Device:
    """The device that authenticates with a token, with its target.

    Raises ``Unauthenticated``: ``token_invalid``, also for the token of a device that was retired.
    """
    row = None
    if secret.startswith(DEVICE_TOKEN_PREFIX):
        rows = Device.objects.select_related("target")
        row = rows.filter(token_hash=secret_digest(secret)).first()
    if row is None:
        raise Unauthenticated(
            "token_invalid",
            "The token belongs to no device.",
            "Enrol the machine with a new code; a retired device needs a new name.",
        )
    return row


def online_devices() -> int:
    """Number of devices that may get jobs and report."""
    return Device.objects.filter(state=DeviceState.ACTIVE, health=DeviceHealth.ONLINE).count()


def devices() -> QuerySet[Device]:
    """All devices by name, each with its target and owner."""
    return Device.objects.select_related("target", "owner").order_by("name")
