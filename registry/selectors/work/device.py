"""Reads of devices."""

from django.db.models import QuerySet

from registry.errors import NotFound
from registry.tables import Device


def device_get(name: str) -> Device:
    """The device of that name, with its target. Raises ``NotFound``: ``device_not_found``."""
    device = devices().filter(name=name).first()
    if device is None:
        raise NotFound(
            "device_not_found",
            f"There is no device {name[:200]!r}.",
            "A device is registered when its worker starts.",
        )
    return device


def devices() -> QuerySet[Device]:
    """All devices by name, each with its target."""
    return Device.objects.select_related("target").order_by("name")
