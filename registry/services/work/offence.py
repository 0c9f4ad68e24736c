"""Offences of devices: requests that a correct device never sends. They are refused and audited,
and the device is put into quarantine."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

from registry.errors import Forbidden, Invalid, NotFound, RegistryError
from registry.services.audit import audit
from registry.services.work.device import device_quarantine
from registry.services.work.devicestate import device_distrust
from registry.states import DeviceState
from registry.tables import Device
from registry.validation.texts import one_line

#: Codes of refusals that a correct device never causes. Unknown fields and lost leases are not
#: among them, because programs have versions and networks fail.
_OFFENCES = frozenset(
    {
        "impossible_result", "signature_invalid", "invalid_path", "duplicate_path",
        "case_collision", "job_not_found",
    }
)  # fmt: skip
_LONGEST_REASON = 500


@contextmanager
def offences_of(device: Device, job_uuid: str) -> Iterator[None]:
    """Put a device into quarantine if a request for a job within the block is an offence.

    The refusal is raised again. Jobs that the device holds are queued again. Requests of a device
    in quarantine raise ``Forbidden`` ``device_quarantined`` at once.
    """
    if device.state == DeviceState.QUARANTINED:
        raise Forbidden(
            "device_quarantined",
            f"{device.name} is in quarantine: {device.reason}".removesuffix(": "),
            "An operator decides whether it may work again.",
        )
    try:
        yield
    except (Invalid, NotFound) as error:
        if error.code in _OFFENCES:
            offence_add(device, job_uuid, error)
        raise


def offence_add(device: Device, job_uuid: str, error: RegistryError) -> None:
    """Log an offence and put the device into quarantine; the caller raises the refusal.

    Args:
        job_uuid: UUID of the job that the request named; "" if it named none.
        error: The refusal of the request.
    """
    with transaction.atomic():
        audit(
            None,
            "device.offence",
            device.name,
            detail={
                "job": job_uuid[:64],
                "code": error.code,
                "detail": error.detail,
                "fields": dict(list(error.fields.items())[:20]),
            },
        )
        device.refresh_from_db(fields=["state"])
        if device.state in {DeviceState.QUARANTINED, DeviceState.RETIRED}:
            # If it is there for failures in a row, its results counted until now.
            device_distrust(device)
            return
        reason = one_line(f"{error.detail} {error.hint}")[:_LONGEST_REASON]
        device_quarantine(actor=None, name=device.name, reason=reason)
