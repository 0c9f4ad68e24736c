"""Health checks of enrolled devices: before the first job, daily, and after failures in a row."""

import secrets
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from hpcfair.healthcheck import HealthCheck, answer, health_check
from registry.services.audit import audit
from registry.services.work.device import device_quarantine
from registry.states import DeviceState
from registry.tables import Device
from registry.validation.texts import one_line

#: Validity of a passed check, unless the device fails twice in a row.
CHECKED_FOR = timedelta(days=1)


def device_check_due(device: Device) -> HealthCheck | None:
    """The check that a device must pass before its next job; ``None`` if none is due.

    The hub's own workers need none. A check without an answer is sent again.
    """
    is_checked = device.checked_at and device.checked_at > timezone.now() - CHECKED_FOR
    if is_checked or not device.public_key or device.state != DeviceState.ACTIVE:
        return None
    rows = Device.objects.filter(pk=device.pk)
    rows.filter(check_seed=None).update(check_seed=secrets.randbelow(2**31))
    return health_check(rows.values_list("check_seed", flat=True).get() or 0)


def device_check_answer(*, device: Device, seed: int, outputs: dict[str, list[int]]) -> Device:
    """Evaluate the answer to a health check: a correct one lets the device get jobs, a wrong one
    puts it into quarantine. An answer to another check has no effect.

    Args:
        outputs: Computed outputs by backend.
    """
    if device.check_seed != seed:
        return device
    expected = answer(health_check(seed))
    wrong = sorted(name for name, values in outputs.items() if values != expected)
    with transaction.atomic():
        rows = Device.objects.filter(pk=device.pk, check_seed=seed)
        if wrong or not outputs:
            # The names come from the device and are not trusted.
            names = [one_line(name)[:100] for name in wrong[:20]]
            listed = ", ".join(names)[:200]
            fault = f"{listed} computes wrong results" if wrong else "no backend runs"
            audit(None, "device.unhealthy", device.name, detail={"backends": names})
            rows.update(check_seed=None)
            return device_quarantine(
                actor=None,
                name=device.name,
                reason=f"Health check: {fault}.",
                keeps_results=not wrong,
            )
        rows.update(check_seed=None, checked_at=timezone.now())
    device.refresh_from_db()
    return device
