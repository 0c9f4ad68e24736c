"""The page of a device: owner, facts, attempts, records, and the buttons of operators."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from hub.pages import chart
from hub.pages.addresses import newest_first
from hub.pages.views import page, signed_in
from registry.selectors.access import may_operate, person, readable_jobs
from registry.selectors.analysis.roof import roofs_of_device
from registry.selectors.results.confirmation import confirmations_of, records_by
from registry.selectors.work.device import device_by_uuid
from registry.selectors.work.fleet import state_of, work_of
from registry.selectors.work.jobattempt import attempts_of, utilisation
from registry.services.work import device as device_service
from registry.states import DeviceState
from registry.tables import Device
from registry.transitions import DEVICE_TRANSITIONS

_HOURS = 7 * 24.0
_BINS = 28
_RECORDS = 20


@dataclass(frozen=True, slots=True)
class DeviceAction:
    """A button that changes the state of a device.

    Attributes:
        state: The new state.
        act: The service.
        text: The message afterwards.
    """

    state: DeviceState
    act: Callable[..., object]
    text: str


#: Actions by the last part of their addresses.
ACTIONS = {
    "drain": DeviceAction(
        DeviceState.DRAINING,
        device_service.device_drain,
        "The device ends its job and gets no more.",
    ),
    "resume": DeviceAction(
        DeviceState.ACTIVE, device_service.device_resume, "The device gets jobs again."
    ),
    "maintenance": DeviceAction(
        DeviceState.MAINTENANCE,
        device_service.device_maintenance,
        "The device is in maintenance and gets no jobs.",
    ),
    "quarantine": DeviceAction(
        DeviceState.QUARANTINED,
        device_service.device_quarantine,
        "The device is in quarantine.",
    ),
    "retire": DeviceAction(
        DeviceState.RETIRED,
        device_service.device_retire,
        "The device is retired, and its token is no longer valid.",
    ),
}


@page
def device(request: HttpRequest, uuid: UUID) -> HttpResponseBase:
    """A device; htmx fetches its state every few seconds."""
    device_service.device_check()
    row = device_by_uuid(str(uuid))
    context = {
        "section": "fleet",
        "device": row,
        "state": state_of(row),
        "work": work_of(request.user, [row])[0],
    }
    if request.htmx:  # type: ignore[attr-defined]
        return render(request, "fleet/device_status.html", context)
    attempts, older = newest_first(attempts_of(row), request)
    records = list(records_by(request.user, row)[:_RECORDS])
    confirmations = confirmations_of(records)
    data = utilisation(hours=_HOURS, bins=_BINS, device=row)
    context |= {
        "actions": _permitted_actions(request, row),
        "attempts": attempts,
        "readable": _readable(request, [attempt.job_id for attempt in attempts]),
        "older": older,
        "records": [(record, confirmations.get(record.pk, ())) for record in records],
        "utilisation": chart.utilisation(data),
        "roofs": roofs_of_device(row),
        # Pairs, because a template would look up a key "items" instead of the method.
        "facts": sorted(row.facts.items()),
        "tools": sorted(row.tools.items()),
    }
    return render(request, "fleet/device.html", context)


@page
@require_POST
def change(request: HttpRequest, uuid: UUID, action: str) -> HttpResponseBase:
    """Drain, resume, maintain, quarantine or retire a device."""
    row = device_by_uuid(str(uuid))
    reason = request.POST.get("reason", "").strip()[:200]
    ACTIONS[action].act(actor=signed_in(request), name=row.name, reason=reason)
    messages.success(request, ACTIONS[action].text)
    return redirect("device", uuid=uuid)


def _permitted_actions(request: HttpRequest, device: Device) -> list[str]:
    """Actions that the state of the device permits and that the viewer may perform."""
    state = DeviceState(device.state)
    names = [name for name, action in ACTIONS.items() if action.state in DEVICE_TRANSITIONS[state]]
    if may_operate(request.user):
        return names
    if device.owner is None or person(request.user) != device.owner:
        return []
    # Only operators may begin or end a quarantine.
    is_trusted = state != DeviceState.QUARANTINED
    return [name for name in names if name != "quarantine" and (name != "resume" or is_trusted)]


def _readable(request: HttpRequest, keys: list[int]) -> set[int]:
    """Those of the jobs that the viewer may read."""
    return set(readable_jobs(request.user).filter(pk__in=keys).values_list("pk", flat=True))
