"""Devices: registration, signs of life, health checks."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry.errors import Invalid
from registry.services.audit import audit
from registry.states import DeviceHealth
from registry.tables import Device, Target
from registry.validation.texts import check_json

# Leases without a sign of life; a worker sends at least one per lease, also when idle.
_SUSPECT_AFTER = 2
_OFFLINE_AFTER = 4


def device_register(*, name: str, target: Target, facts: dict[str, Any]) -> Device:
    """Register a device, or update its entry; it is online afterwards.

    Raises ``Invalid`` ``invalid_name``, ``invalid_request``.
    """
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise Invalid(
            "invalid_name",
            f"{name[:50]!r} is not a valid name of a device.",
            "Use 1 to 200 printable characters, such as its host name.",
        )
    columns = {"health": DeviceHealth.ONLINE, "last_seen_at": timezone.now()}
    with transaction.atomic():
        device, is_new = Device.objects.update_or_create(
            name=name, defaults={"target": target, "facts": check_json(facts), **columns}
        )
        if is_new:
            audit(None, "device.register", name, detail={"target": target.slug})
    return device


def device_seen(*, device: Device) -> None:
    """Record a sign of life; workers send at least one per lease, also when idle."""
    Device.objects.filter(pk=device.pk).update(
        last_seen_at=timezone.now(), health=DeviceHealth.ONLINE
    )


def device_check() -> None:
    """Mark silent devices: suspect after two leases, offline after four."""
    now = timezone.now()

    def silent_for(leases: int) -> Q:
        since = now - timedelta(seconds=leases * settings.JOB_LEASE_S)
        return Q(last_seen_at=None) | Q(last_seen_at__lt=since)

    offline = Device.objects.filter(silent_for(_OFFLINE_AFTER)).exclude(health=DeviceHealth.OFFLINE)
    offline.update(health=DeviceHealth.OFFLINE)
    suspect = Device.objects.filter(silent_for(_SUSPECT_AFTER), health=DeviceHealth.ONLINE)
    suspect.update(health=DeviceHealth.SUSPECT)
