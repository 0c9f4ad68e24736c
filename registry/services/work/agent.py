"""Services for the agents of devices: claims, reads, writes, ends, and renewals of leases."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from hpcfair.tickets import JobTicket
from registry.errors import Conflict, Invalid
from registry.selectors.work.agent import attempt_of, held_job_of, idle_reason
from registry.services.work.attempt import job_claim, job_release, lease_renew
from registry.services.work.device import device_seen
from registry.services.work.offence import offences_of
from registry.services.work.operations import job_read, job_write
from registry.services.work.report import job_end
from registry.states import HUB_JOBS, JobKind, JobState
from registry.tables import Device, Job

#: Upper bound on the jobs that an agent holds at a time. An agent does one job at a time; it holds
#: more only if it lost the earlier ones.
MOST_HELD = 8


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


def poll_s() -> float:
    """Seconds between two claims of an agent without a job."""
    return float(settings.JOB_LEASE_S) / 6


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
    if _held_by_heartbeat(device)[:MOST_HELD].count() == MOST_HELD:
        return JobOffer(None, poll_s(), f"{device.name} holds {MOST_HELD} jobs already")
    ticket = job_claim(
        device_name=device.name,
        kinds=list(kinds),
        target=device.target.slug,
        available_s=available_s,
        cached=frozenset(cached),
    )
    if ticket is not None:
        return JobOffer(ticket, 0.0, "")
    return JobOffer(None, poll_s(), idle_reason(device))


def agent_heartbeat(*, device: Device, held: Sequence[tuple[str, int]]) -> list[Renewal]:
    """Renew the leases of a device, given as pairs of job and fence. An empty list is a sign of
    life.

    A job that the device claimed more than half a lease ago and never named did not reach it. It is
    queued again, uncharged.
    """
    _release_unreceived(device, {job for job, _ in held})
    # One transaction: a fleet's heartbeats are most of the writes of a hub.
    with transaction.atomic():
        renewals = [_renewal(device, job, fence) for job, fence in held]
        device_seen(device=device)
    return renewals


def agent_read(
    *, device: Device, job_uuid: str, fence: int, name: str, parameters: Mapping[str, Any]
) -> Any:
    """:func:`~registry.services.work.operations.job_read` for the device that holds the job.

    Raises its errors, and those of :func:`~registry.selectors.work.agent.attempt_of`.
    """
    with offences_of(device, job_uuid):
        attempt_of(device, job_uuid, fence)
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

    Raises its errors, and those of :func:`~registry.selectors.work.agent.attempt_of`.
    """
    with offences_of(device, job_uuid):
        attempt_of(device, job_uuid, fence)
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

    Raises its errors, and those of :func:`~registry.selectors.work.agent.attempt_of`.
    """
    with offences_of(device, job_uuid):
        attempt_of(device, job_uuid, fence)
        return job_end(device=device, job_uuid=job_uuid, fence=fence, **report)


def _renewal(device: Device, job_uuid: str, fence: int) -> Renewal:
    lease_s = float(settings.JOB_LEASE_S)
    rows = Job.objects.filter(uuid=job_uuid, fence=fence, device=device)
    try:
        if not rows.exists():
            return Renewal(job_uuid, fence, 0.0, cancel=False, is_lost=True)
        job = lease_renew(job_uuid=job_uuid, fence=fence)
    except Conflict:
        return Renewal(job_uuid, fence, 0.0, cancel=False, is_lost=True)
    return Renewal(job_uuid, fence, lease_s, cancel=job.cancel_requested, is_lost=False)


def _held_by_heartbeat(device: Device) -> QuerySet[Job]:
    """Jobs that a device holds and must renew. Jobs of bundles are left out: they have longer
    leases and no heartbeats."""
    lease_until = timezone.now() + timedelta(seconds=settings.JOB_LEASE_S)
    return Job.objects.filter(device=device, state=JobState.LEASED, lease_until__lte=lease_until)


def _release_unreceived(device: Device, named: set[str]) -> None:
    long_ago = timezone.now() - timedelta(seconds=settings.JOB_LEASE_S) / 2
    unreceived = _held_by_heartbeat(device).filter(
        heartbeat_at=F("started_at"), started_at__lt=long_ago
    )
    for uuid, fence in unreceived.exclude(uuid__in=named).values_list("uuid", "fence"):
        # The reaper may have ended its lease meanwhile.
        with suppress(Conflict):
            job_release(job_uuid=str(uuid), fence=fence)
