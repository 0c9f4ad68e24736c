"""Services for the agents of devices: claims, reads, writes, ends, and renewals of leases."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid
from registry.selectors.work.agent import held_job_of, idle_reason, require_attempt
from registry.selectors.work.device import online_devices
from registry.selectors.work.job import job_ticket
from registry.services.work.attempt import job_release
from registry.services.work.claim import job_take
from registry.services.work.device import device_seen
from registry.services.work.lease import lease_end
from registry.services.work.offence import offences_of
from registry.services.work.operations import job_read, job_write
from registry.services.work.report import job_end
from registry.states import HUB_JOBS, JobKind, JobState
from registry.tables import Device, Job

#: Upper bound on the jobs that an agent holds at a time. An agent does one job at a time; it holds
#: more only if it lost the earlier ones.
MOST_HELD = 8
#: Claims a second of all devices without a job. A job waits until some device asks, not until each
#: does.
IDLE_CLAIMS_PER_S = 20.0


@dataclass(frozen=True, slots=True)
class JobOffer:
    """The answer to a claim: a job, or the seconds to wait and the reason why there is none."""

    ticket: JobTicket | None
    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Renewal:
    """The answer to a heartbeat for one job.

    ``is_lost``: stop the job, another device may hold it. ``cancel``: stop the job and report it as
    released. ``lease_s`` is the time in seconds until the lease ends.
    """

    job: str
    fence: int
    lease_s: float
    cancel: bool
    is_lost: bool


def heartbeat_s() -> float:
    """Seconds between the heartbeats of an agent."""
    return float(settings.JOB_LEASE_S) / 4


def poll_s(devices: int = 1) -> float:
    """Seconds between two claims of an agent without a job.

    The more devices are online, the longer, so that a fleet without work does not occupy the hub:
    between a sixth of a lease and a whole one.
    """
    lease_s = float(settings.JOB_LEASE_S)
    return min(lease_s, max(lease_s / 6, devices / IDLE_CLAIMS_PER_S))


def agent_claim(
    *,
    device: Device,
    kinds: Sequence[JobKind],
    available_s: float | None,
    cached: Collection[str],
) -> JobOffer:
    """Claim the next job for a device.

    Args:
        kinds: Kinds of jobs that its agent can do; kinds of the hub's own jobs are refused.
        available_s: Seconds for which it is still available, for example in its allocation;
            ``None`` without a limit.
        cached: Digests of the files in its cache.

    Raises:
        Invalid: ``invalid_request``.
    """
    if foreign := sorted(HUB_JOBS.intersection(kinds)):
        fields = {"kinds": f"{', '.join(foreign)} are done by the hub"}
        raise Invalid("invalid_request", "These jobs are not for devices.", fields=fields)
    held = _leased(device, ())
    _release_unreceived(held, frozenset())
    if len(held) >= MOST_HELD:
        return JobOffer(None, poll_s(), f"{device.name} holds {MOST_HELD} jobs already")
    device_seen(device=device)
    job = job_take(
        list(kinds), device, is_quick=False, available_s=available_s, cached=frozenset(cached)
    )
    if job is not None:
        return JobOffer(job_ticket(job), 0.0, "")
    return JobOffer(None, poll_s(online_devices()), idle_reason(device))


def agent_busy() -> JobOffer:
    """The answer to a claim that the hub has no time for: the device asks again later.

    To let it wait for its turn would be worse: devices repeat requests that are not answered.
    """
    return JobOffer(None, poll_s(online_devices()), "the hub is busy with other claims")


def agent_heartbeat(*, device: Device, held: Sequence[tuple[str, int]]) -> list[Renewal]:
    """Renew the leases of a device, given as pairs of job and fence. An empty list is a sign of
    life.

    A job that the device claimed more than half a lease ago and never named did not reach it. It is
    queued again, uncharged.
    """
    named = frozenset(job for job, _ in held)
    leased = _leased(device, named)
    _release_unreceived(leased, named)
    by_claim = {(str(job.uuid), job.fence): job for job in leased}
    # One transaction: a fleet's heartbeats are most of the writes of a hub.
    with transaction.atomic():
        renewals = [_renewal(claim, by_claim.get(claim)) for claim in held]
        device_seen(device=device)
    return renewals


def agent_read(
    *, device: Device, job_uuid: str, fence: int, name: str, parameters: Mapping[str, Any]
) -> Any:
    """:func:`~registry.services.work.operations.job_read` for the device that holds the job.

    Raises its errors, and those of :func:`~registry.selectors.work.agent.require_attempt`.
    """
    with offences_of(device, job_uuid):
        require_attempt(device, job_uuid, fence)
        return job_read(job_uuid=job_uuid, fence=fence, name=name, parameters=parameters)


def agent_write(
    *,
    device: Device,
    job_uuid: str,
    fence: int,
    name: str,
    columns: Mapping[str, Any],
    number: int | None,
) -> Any:
    """:func:`~registry.services.work.operations.job_write` for the device that holds the job.

    Raises its errors, and those of :func:`~registry.selectors.work.agent.require_attempt`.
    """
    with offences_of(device, job_uuid):
        require_attempt(device, job_uuid, fence)
        return job_write(
            job_uuid=job_uuid,
            fence=fence,
            name=name,
            columns=columns,
            number=number,
            device=device,
        )


def agent_job(*, device: Device, job_uuid: str) -> Job:
    """The job that a device holds now, whose files it may fetch and send.

    Raises the errors of :func:`~registry.selectors.work.agent.held_job_of`.
    """
    with offences_of(device, job_uuid):
        return held_job_of(device, job_uuid)


def agent_end(*, device: Device, job_uuid: str, fence: int, **report: Any) -> dict[str, Any]:
    """:func:`~registry.services.work.report.job_end` for the device that held the attempt.

    Raises its errors, and those of :func:`~registry.selectors.work.agent.require_attempt`.
    """
    with offences_of(device, job_uuid):
        require_attempt(device, job_uuid, fence)
        return job_end(device=device, job_uuid=job_uuid, fence=fence, **report)


def _renewal(claim: tuple[str, int], job: Job | None) -> Renewal:
    """Renew the lease of a claim.

    Args:
        job: Its job, as the device held it a moment ago; ``None`` if it did not.
    """
    now = timezone.now()
    rows = Job.objects.filter(state=JobState.LEASED, fence=claim[1])
    columns = {"lease_until": lease_end(now), "heartbeat_at": now}
    if job is None or not rows.filter(pk=job.pk).update(**columns):
        return Renewal(*claim, 0.0, cancel=False, is_lost=True)
    lease_s = float(settings.JOB_LEASE_S)
    return Renewal(*claim, lease_s, cancel=job.cancel_requested, is_lost=False)


def _leased(device: Device, named: Collection[str]) -> list[Job]:
    """Jobs that a device holds and must renew, and those that it names.

    Other jobs of bundles are left out: they have longer leases and no heartbeats.
    """
    lease_until = timezone.now() + timedelta(seconds=settings.JOB_LEASE_S)
    renewed = Q(lease_until__lte=lease_until)
    rows = Job.objects.filter(
        renewed | Q(uuid__in=named) if named else renewed, device=device, state=JobState.LEASED
    )
    return list(rows.only("pk", "uuid", "fence", "cancel_requested", "heartbeat_at", "started_at"))


def _release_unreceived(leased: Iterable[Job], named: Collection[str]) -> None:
    long_ago = timezone.now() - timedelta(seconds=settings.JOB_LEASE_S) / 2
    for job in leased:
        is_received = job.heartbeat_at != job.started_at or str(job.uuid) in named
        if not is_received and job.started_at is not None and job.started_at < long_ago:
            # The reaper may have ended its lease meanwhile.
            with suppress(Conflict):
                job_release(job_uuid=str(job.uuid), fence=job.fence)
