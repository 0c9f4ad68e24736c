"""Devices: registration of the hub's own workers, their health, and changes of their state.

::

    active <----> draining        drain, resume
    active, draining -----------> maintenance ---- resume ----> active
    active, draining, maintenance -> quarantined -- resume ----> active
    every state ----------------> retired

Each transition is one filtered UPDATE of :data:`~registry.transitions.DEVICE_TRANSITIONS`. A device
that is not ``active`` gets no jobs. :mod:`registry.services.work.enrolment` enrols other machines.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry.errors import Conflict, Forbidden, Invalid
from registry.selectors.access import Actor, may_operate, require_scope
from registry.selectors.work.device import device_get
from registry.services.audit import audit
from registry.services.work.devicestate import DEVICE_ACTIONS, device_change
from registry.services.work.lease import Failure, end_attempt
from registry.services.work.target import catch_up_due
from registry.states import DeviceHealth, DeviceState, FailureClass, JobState, Scope
from registry.tables import Device, Job, Target
from registry.validation.texts import check_json, check_text

# Leases without a sign of life; a worker sends at least one per lease, also when idle.
_SUSPECT_AFTER = 2
_OFFLINE_AFTER = 4
_LONGEST_REASON = 500
#: States that end the jobs of the device at once.
_ENDING = frozenset({DeviceState.QUARANTINED, DeviceState.RETIRED})


def check_name(name: str) -> str:
    """``name`` if a device may have it. Raises ``Invalid``: ``invalid_name``."""
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise Invalid(
            "invalid_name",
            f"{name[:50]!r} is not a valid name of a device.",
            "Use 1 to 200 printable characters, such as its host name.",
        )
    return name


def device_register(
    *, name: str, target: Target, facts: dict[str, Any], tools: dict[str, Any] | None = None
) -> Device:
    """Register a worker of the hub as a device, or update its entry; it is online afterwards.

    Raises ``Invalid`` ``invalid_name``, ``invalid_request``; ``Conflict`` ``device_exists`` if an
    enrolled machine has the name.
    """
    check_name(name)
    columns = {
        "target": target,
        "facts": check_json(facts),
        "tools": check_json(tools or {}),
        "is_emulated": target.is_emulated,
        "health": DeviceHealth.ONLINE,
        "last_seen_at": timezone.now(),
    }
    with transaction.atomic():
        if Device.objects.filter(name=name).exclude(public_key="").exists():
            raise Conflict(
                "device_exists",
                f"{name} is the name of an enrolled machine.",
                "Set HPCFAIR_DEVICE to another name.",
            )
        device, is_new = Device.objects.update_or_create(name=name, defaults=columns)
        if is_new:
            audit(None, "device.register", name, detail={"target": target.slug})
    return device


def device_seen(*, device: Device) -> None:
    """Record a sign of life; workers send at least one per lease, also when idle.

    Not again within half a lease: these writes would be most of a hub's. A device is suspect after
    two leases.
    """
    since = timezone.now() - timedelta(seconds=settings.JOB_LEASE_S) / 2
    is_recent = device.last_seen_at is not None and device.last_seen_at > since
    if device.health == DeviceHealth.ONLINE and is_recent:
        return
    if device.health != DeviceHealth.ONLINE and device.state == DeviceState.ACTIVE:
        catch_up_due(target_id=device.target_id)
    Device.objects.filter(pk=device.pk).update(
        last_seen_at=timezone.now(), health=DeviceHealth.ONLINE
    )


def device_check() -> None:
    """Mark silent devices: suspect after two leases, offline after four.

    The reaper calls it, and whoever shows devices: the reaper ends with the workers. Without a
    change it writes nothing.
    """
    now = timezone.now()

    def silent_for(leases: int) -> Q:
        since = now - timedelta(seconds=leases * settings.JOB_LEASE_S)
        return Q(last_seen_at=None) | Q(last_seen_at__lt=since)

    offline = silent_for(_OFFLINE_AFTER) & ~Q(health=DeviceHealth.OFFLINE)
    suspect = silent_for(_SUSPECT_AFTER) & Q(health=DeviceHealth.ONLINE)
    # SQLite locks the database also for a write that changes nothing.
    if Device.objects.filter(offline | suspect).exists():
        Device.objects.filter(offline).update(health=DeviceHealth.OFFLINE)
        Device.objects.filter(suspect).update(health=DeviceHealth.SUSPECT)


def device_drain(*, actor: Actor, name: str, reason: str = "") -> Device:
    """Let a device end its job and get no more. Raises as :func:`_decide`."""
    return _decide(actor, name, DeviceState.DRAINING, reason)


def device_resume(*, actor: Actor, name: str, reason: str = "") -> Device:
    """Let a device get jobs again; only operators may end a quarantine. Raises as
    :func:`_decide`."""
    return _decide(actor, name, DeviceState.ACTIVE, reason)


def device_maintenance(*, actor: Actor, name: str, reason: str = "") -> Device:
    """Give a device no jobs until it is resumed. Raises as
    :func:`_decide`."""
    return _decide(actor, name, DeviceState.MAINTENANCE, reason)


def device_quarantine(
    *, actor: Actor, name: str, reason: str = "", keeps_results: bool = False
) -> Device:
    """Put a device into quarantine: its jobs are queued again, and its results are refused. For
    operators and the hub.

    Builds that it measured are not chosen until the quarantine ends. ``keeps_results``: they are
    still chosen, because the device failed without sending a wrong result. Raises as
    :func:`_decide`.
    """
    return _decide(actor, name, DeviceState.QUARANTINED, reason, keeps_results=keeps_results)


def device_retire(*, actor: Actor, name: str, reason: str = "") -> Device:
    """Retire a device for good: its jobs are queued again, and its token ends. Raises as
    :func:`_decide`."""
    return _decide(actor, name, DeviceState.RETIRED, reason)


#: The service of each state that people can put a device into.
DECISIONS: dict[DeviceState, Callable[..., Device]] = {
    DeviceState.ACTIVE: device_resume,
    DeviceState.DRAINING: device_drain,
    DeviceState.MAINTENANCE: device_maintenance,
    DeviceState.QUARANTINED: device_quarantine,
    DeviceState.RETIRED: device_retire,
}


def _decide(
    actor: Actor, name: str, to: DeviceState, reason: str, *, keeps_results: bool = False
) -> Device:
    """Change the state of a device. Repeating a change has no effect.

    Raises:
        Unauthenticated, Forbidden: the actor is neither an operator nor the owner of the device, or
            only operators may do this.
        NotFound: ``device_not_found``.
        Conflict: ``invalid_state``: not possible in its present state.
        Invalid: ``invalid_request``: the reason is too long or has several lines.
    """
    device = device_get(name)
    _require(actor, device, to)
    check_text(reason, field="reason", most=_LONGEST_REASON)
    if device.state == to:
        return device
    with transaction.atomic():
        # Locked before the row of the device, in the same order as heartbeats do.
        if to in _ENDING:
            end_jobs = partial(_end_jobs, device, f"{device.name} was {to.label.lower()}.")
            end_jobs()
            # Once more for claims that were committed before the change of state; later claims
            # read the new state.
            transaction.on_commit(end_jobs)
        device_change(device, actor, to, reason, keeps_results=keeps_results)
    return device_get(name)


def _require(actor: Actor, device: Device, to: DeviceState) -> None:
    user = require_scope(actor, Scope.ADMIN)
    if user is None or may_operate(actor):
        return
    # A token for a namespace does not permit changes of machines.
    is_owner = device.owner == user and (user.token is None or user.token.namespace_id is None)
    is_trust = DeviceState.QUARANTINED in {device.state, to} and to != DeviceState.RETIRED
    if not is_owner or is_trust:
        raise Forbidden(
            "permission_denied",
            f"You may not {DEVICE_ACTIONS[to]} {device.name}.",
            "Ask an operator of the hub.",
        )


def _end_jobs(device: Device, detail: str) -> None:
    """Queue the jobs of a device again, uncharged."""
    failure = Failure(FailureClass.INFRASTRUCTURE, "job_interrupted", detail)
    held = Job.objects.filter(device=device, state=JobState.LEASED).order_by("id")
    with transaction.atomic():
        for job in held.select_for_update(of=("self",)).select_related("target"):
            rows = Job.objects.filter(pk=job.pk, state=JobState.LEASED, fence=job.fence)
            end_attempt(rows, job, failure, charged=False)
