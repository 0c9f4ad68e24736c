"""Why a queued job waits, in words for people: the devices of its target, and unmet
requirements."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.db.models import Count, QuerySet

from registry import fairshare
from registry.selectors.work.matching import misfit_of
from registry.states import DeviceHealth, DeviceState, JobState
from registry.tables import Device, Job, JobRequirement, Target

#: Most devices of a target that are compared with the requirement of a job.
_COMPARED_DEVICES = 100


@dataclass(slots=True)
class TargetService:
    """The devices that serve a target.

    Attributes:
        states: Number of devices by health for active devices, else by state; without retired ones.
        busy: Number of devices that run a job.
        holders: Number of devices that an account's jobs hold, by key of the account.
        misfits: Reason why no device meets a requirement, by its key; "" if one does.
        idle_misfits: The same for the devices that run no job; "" also if there are none.
    """

    is_enabled: bool = True
    states: Mapping[str, int] = field(default_factory=dict)
    busy: int = 0
    holders: Mapping[int, int] = field(default_factory=dict)
    misfits: Mapping[int, str] = field(default_factory=dict)
    idle_misfits: Mapping[int, str] = field(default_factory=dict)

    @property
    def online(self) -> int:
        """Number of active devices that are online."""
        return self.states.get(DeviceHealth.ONLINE, 0)

    @property
    def cap(self) -> int:
        """Number of devices that jobs of one account may hold at a time."""
        return fairshare.device_cap(settings.ACCOUNT_SHARE, self.online)


def services_of(jobs: Iterable[Job]) -> dict[int | None, TargetService]:
    """Services of the jobs' targets by key of the target; ``None`` for the hub's own workers."""
    needs: dict[int, set[int]] = defaultdict(set)
    for job in jobs:
        if job.target_id is not None:
            needs[job.target_id] |= {job.requirement_id} if job.requirement_id else set()
    services: dict[int | None, TargetService] = {
        None: TargetService(states={DeviceHealth.ONLINE: 1})
    }
    for target in Target.objects.filter(pk__in=needs):
        services[target.pk] = _service(target, needs[target.pk])
    return services


def holders(target: Target) -> dict[int, int]:
    """Number of leases that an account's jobs have on a target, by key of the account."""
    counts = (
        _held(target)
        .filter(flow__account__isnull=False)
        .order_by()
        .values_list("flow__account")
        .annotate(count=Count("pk"))
    )
    return dict(counts)


def accounts_at_cap(target: Target) -> set[int]:
    """Keys of the accounts whose jobs hold as many devices of a target as one account may."""
    if settings.ACCOUNT_SHARE >= 1:
        return set()
    online = Device.objects.filter(
        target=target, state=DeviceState.ACTIVE, health=DeviceHealth.ONLINE
    ).count()
    cap = fairshare.device_cap(settings.ACCOUNT_SHARE, online)
    return {account for account, count in holders(target).items() if count >= cap}


def obstacle(job: Job, service: TargetService) -> str:
    """Why no worker can take a job at present, regardless of the jobs before it; "" if one can."""
    if not service.is_enabled:
        return "the target is disabled"
    if not service.states:
        return "the target has no device"
    if not service.online:
        return f"no device of the target is online{_states(service.states)}"
    if reason := service.misfits.get(job.requirement_id or 0, ""):
        return reason
    held = service.holders.get(job.flow.account_id or 0, 0) if job.flow else 0
    if settings.ACCOUNT_SHARE < 1 and held >= service.cap:
        return f"its account holds {held} of {service.online} devices, its share"
    return ""


def next_in_line(job: Job, service: TargetService) -> str:
    """The wait reason of a job that is first in its queue."""
    if not service.busy or service.busy < service.online:
        misfit = service.idle_misfits.get(job.requirement_id or 0, "")
        return f"next for a free worker{misfit and f'; of the idle ones {misfit}'}"
    count = service.online
    busy = "the device runs a job" if count == 1 else f"all {count} devices run jobs"
    return f"next for a free worker; {busy}"


def pause_reason(job: Job, until: datetime) -> str:
    """The wait reason of a job that may not be claimed yet."""
    cause = " after a failure of the infrastructure" if job.fence else ""
    return f"paused until {until:%H:%M:%S} UTC{cause}"


def ahead_reason(own: int, others: int, *, limit: int) -> str:
    """The wait reason of a job behind others: jobs of its account, counted to ``limit``, and
    others."""
    shown = f"{own} jobs" if own != 1 else "1 job"
    if own >= limit:
        shown = f"at least {own} jobs"
    parts = [f"{shown} of the same account"] if own else []
    if others:
        parts.append(
            f"{others} of others" if own else f"{others} job{'s' * (others != 1)} of others"
        )
    return f"{' and '.join(parts)} {'is' if own + others == 1 else 'are'} ahead"


def start_forecast(seconds: float) -> str:
    """When a job is expected to start."""
    if seconds < 90:
        return f"expected start in {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 120:
        return f"expected start in {minutes} min"
    return f"expected start in {round(minutes / 60)} h"


def _service(target: Target, requirements: Collection[int]) -> TargetService:
    devices = Device.objects.filter(target=target).exclude(state=DeviceState.RETIRED)
    states: dict[str, int] = defaultdict(int)
    grouped = devices.order_by().values_list("state", "health").annotate(count=Count("pk"))
    for state, health, count in grouped:
        states[health if state == DeviceState.ACTIVE else state] += count
    online = devices.filter(state=DeviceState.ACTIVE, health=DeviceHealth.ONLINE)
    compared = list(online.order_by("name")[:_COMPARED_DEVICES]) if requirements else []
    rows = list(JobRequirement.objects.filter(pk__in=requirements))
    busy = {*_held(target).filter(device__isnull=False).values_list("device", flat=True)}
    idle = [device for device in compared if device.pk not in busy]
    return TargetService(
        is_enabled=target.enabled,
        states=dict(states),
        busy=len(busy),
        holders=holders(target) if settings.ACCOUNT_SHARE < 1 else {},
        misfits={row.pk: misfit_of(row, compared) for row in rows},
        idle_misfits={row.pk: misfit_of(row, idle) for row in rows},
    )


def _held(target: Target) -> QuerySet[Job]:
    """Jobs that devices of a target hold, by the index of held jobs."""
    return Job.objects.filter(state=JobState.LEASED, device__gt=0, target=target)


def _states(states: Mapping[str, int]) -> str:
    """The numbers of devices by state, as the end of a sentence; empty if all are only offline."""
    decided = set(states) - set(DeviceHealth.values)
    if not decided:
        return ""
    counts = ", ".join(f"{count} {state}" for state, count in sorted(states.items()))
    return f": {counts}"
