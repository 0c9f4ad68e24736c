"""Changes of a device's state, and its failures in a row."""

from typing import Any

from django.db.models import F
from django.utils import timezone

from registry.errors import Conflict
from registry.selectors.access import Actor
from registry.services.audit import audit
from registry.services.work.rerank import ALL_MODELS
from registry.services.work.target import catch_up_due
from registry.states import AttemptEnd, DeviceState
from registry.tables import Device
from registry.transitions import DEVICE_TRANSITIONS

#: Numbers of attempts in a row that fail because of the machine, after which a health check must be
#: passed before the next job, and after which the device is put into quarantine.
CHECKED_AFTER = 2
QUARANTINED_AFTER = 6
#: Verb of each change of state in the audit log.
DEVICE_ACTIONS = {
    DeviceState.ACTIVE: "resume",
    DeviceState.DRAINING: "drain",
    DeviceState.MAINTENANCE: "maintain",
    DeviceState.QUARANTINED: "quarantine",
    DeviceState.RETIRED: "retire",
}


def device_change(
    device: Device, actor: Actor, to: DeviceState, reason: str, *, keeps_results: bool = False
) -> None:
    """Change the state of a device, in the caller's transaction.

    A device in quarantine is not trusted: none of its results count, including earlier ones, and
    this is permanent if it is retired in quarantine. ``keeps_results``: its earlier results still
    count, because it failed without sending a wrong one.

    Raises ``Conflict`` ``invalid_state`` if its state was changed meanwhile, or permits no change
    to ``to``.
    """
    source = DeviceState(device.state)
    columns: dict[str, Any] = {"state": to, "reason": reason, "state_at": timezone.now()}
    if to == DeviceState.RETIRED:
        columns["token_hash"] = ""
    is_trusted = _trusts(device, to, keeps_results=keeps_results)
    if is_trusted != device.is_trusted:
        columns |= {"is_trusted": is_trusted, "rerank_below": ALL_MODELS}
    if to == DeviceState.ACTIVE:
        # A machine that was repaired is checked before its next job.
        columns |= {"failures_in_row": 0, "checked_at": None}
        catch_up_due(target_id=device.target_id)
    rows = Device.objects.filter(pk=device.pk, state=source)
    if to not in DEVICE_TRANSITIONS[source] or not rows.update(**columns):
        raise Conflict(
            "invalid_state",
            f"{device.name} is {source}: it cannot become {to}.",
            "Enrol the machine anew under another name."
            if source == DeviceState.RETIRED
            else "Look at its state, and try again.",
        )
    detail = {"from": source, "to": to, "reason": reason}
    audit(actor, f"device.{DEVICE_ACTIONS[to]}", device.name, detail=detail)


def device_distrust(device: Device) -> None:
    """Stop counting the results of a device, whatever its state is."""
    rows = Device.objects.filter(pk=device.pk, is_trusted=True)
    rows.update(is_trusted=False, rerank_below=ALL_MODELS)


def device_attempt_add(*, device_id: int, run_s: float, end: AttemptEnd, has_failed: bool) -> None:
    """Record the end of an attempt, in its transaction.

    Released and cancelled attempts do not count as failures. An enrolled device that fails twice in
    a row has to pass a health check before its next job; six failures in a row put it into
    quarantine.

    Args:
        run_s: Seconds of the attempt.
        has_failed: Whether the machine failed: it fell silent, reported a failure of the
            infrastructure, or exceeded the time limit of the job.
    """
    rows = Device.objects.filter(pk=device_id)
    rows.update(run_s=F("run_s") + run_s)
    if end in {AttemptEnd.RELEASED, AttemptEnd.CANCELLED}:
        return
    if not has_failed:
        rows.update(failures_in_row=0)
        return
    rows.update(failures_in_row=F("failures_in_row") + 1)
    enrolled = rows.exclude(public_key="")
    enrolled.filter(failures_in_row__gte=CHECKED_AFTER).update(checked_at=None)
    working = enrolled.filter(state__in=[DeviceState.ACTIVE, DeviceState.DRAINING])
    failed = working.filter(failures_in_row__gte=QUARANTINED_AFTER).first()
    if failed is not None:
        # Its other jobs end with their leases, because their rows may be locked now.
        reason = f"{QUARANTINED_AFTER} attempts in a row failed"
        device_change(failed, None, DeviceState.QUARANTINED, reason, keeps_results=True)


def device_attempt_report(*, device_id: int) -> None:
    """Take back the failure of a device whose lease expired, because it reports the end after all:
    it did not fall silent, the hub or the network did."""
    rows = Device.objects.filter(pk=device_id, failures_in_row__gt=0)
    rows.update(failures_in_row=F("failures_in_row") - 1)


def _trusts(device: Device, to: DeviceState, *, keeps_results: bool) -> bool:
    """Whether the results of a device count after a change of its state."""
    if to == DeviceState.QUARANTINED:
        return keeps_results
    left = device.state == DeviceState.QUARANTINED and to != DeviceState.RETIRED
    return left or device.is_trusted
