"""Attempts at jobs: claimed by workers, renewed by heartbeats, reported and ended.

A report names the fence of its claim. Ending a job is idempotent: repeating it has no effect.
"""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from hpcfair.tickets import HeartbeatReply, JobTicket
from registry.errors import CODES, Invalid
from registry.ids import parse_uuid
from registry.selectors.work.device import device_get
from registry.selectors.work.job import job_ticket
from registry.services.work.claim import job_take
from registry.services.work.device import device_seen
from registry.services.work.flow import estimate_s as estimate_s_of
from registry.services.work.flow import flow_reestimate, flow_settle, run_limit_s
from registry.services.work.jobattempt import attempt_end
from registry.services.work.lease import (
    Failure,
    end_attempt,
    fail_attempt,
    held_job,
    lease_end,
    lease_lost,
    note,
    transition,
)
from registry.services.work.study import study_count
from registry.states import AttemptEnd, FailureClass, JobKind, JobState
from registry.tables import Device, Job
from registry.validation.texts import check_json, printable

#: Phase in which a job copies its files; it does not count against the time limit.
_PREPARATION = "fetch"
#: Phase in which a search tries candidates. Later failures are not due to the last candidate.
_SEARCH = "search"


def job_claim(
    *,
    device_name: str | None,
    kinds: list[JobKind],
    target: str | None,
    is_quick: bool = False,
    available_s: float | None = None,
    cached: frozenset[str] = frozenset(),
) -> JobTicket | None:
    """Claim the next queued job by the rule of :mod:`registry.fairshare`.

    Jobs of the hub come before those of the target, in the order of ``kinds``.

    Args:
        device_name: Device of the worker; required for jobs that have a target.
        kinds: Kinds of jobs that the worker can do.
        target: Slug of the device's target; ``None`` to claim only jobs without a target.
        is_quick: Whether to leave jobs that have yielded before to other workers.
        available_s: Seconds for which the device is still available; longer jobs are passed over.
        cached: Digests of the files in its cache.

    Returns:
        The job, leased for ``settings.JOB_LEASE_S`` seconds; ``None`` if no such job is queued.

    Raises:
        NotFound: ``device_not_found``.
        Invalid: ``invalid_target``: the device is not of that target.
    """
    device = _claimant(device_name, target)
    job = job_take(
        kinds, device if target else None, is_quick=is_quick, available_s=available_s, cached=cached
    )
    return job_ticket(job) if job else None


def job_heartbeat(*, job_uuid: str, fence: int) -> HeartbeatReply:
    """Renew a lease, which is a sign of life of the device; the reply says whether the job is to be
    cancelled.

    Raises ``Conflict`` ``lease_lost``.
    """
    with transaction.atomic():
        job = lease_renew(job_uuid=job_uuid, fence=fence)
        if job.device:
            device_seen(device=job.device)
    return HeartbeatReply(cancel=job.cancel_requested)


def lease_renew(*, job_uuid: str, fence: int) -> Job:
    """Renew a lease; returns its job. Raises ``Conflict`` ``lease_lost``."""
    now = timezone.now()
    if not _held(job_uuid, fence).update(lease_until=lease_end(now), heartbeat_at=now):
        raise lease_lost(job_uuid, fence)
    return Job.objects.select_related("device").get(uuid=job_uuid)


def job_progress(
    *,
    job_uuid: str,
    fence: int,
    phase: str,
    done: int,
    total: int | None,
    message: str,
    used_s: float | None = None,
    budget_s: float | None = None,
) -> None:
    """Store a job's progress, for people. Raises ``Conflict`` ``lease_lost``.

    ``used_s`` are the seconds that the phase has used of its ``budget_s``; ``None`` if it has none.
    """
    progress = {
        "phase": printable(phase),
        "done": done,
        "total": total,
        "message": printable(message[:500]),
        "used_s": used_s,
        "budget_s": budget_s,
        "at": timezone.now().isoformat(),
    }
    rows = _held(job_uuid, fence)
    none = {} if phase == _SEARCH else {"candidate": ""}
    if not rows.update(progress=progress, **none):
        raise lease_lost(job_uuid, fence)
    if phase != _PREPARATION:
        rows.filter(running_since=None).update(running_since=timezone.now())


def candidate_begin(*, job_uuid: str, fence: int, config_sha256: str) -> None:
    """Store which candidate a search tries next, before it runs: if the device falls silent, the
    candidate is suspected. Raises ``Conflict`` ``lease_lost``."""
    if not _held(job_uuid, fence).update(candidate=config_sha256):
        raise lease_lost(job_uuid, fence)


def job_note(*, job_uuid: str, fence: int, message: str) -> None:
    """Add a line to a job's log. Raises ``Conflict`` ``lease_lost``."""
    with transaction.atomic():
        note(held_job(job_uuid=job_uuid, fence=fence), message)


def job_succeed(*, job_uuid: str, fence: int, result: dict[str, Any]) -> None:
    """End a job as succeeded.

    Raises ``Conflict`` ``lease_lost``; ``Invalid`` ``invalid_request`` if the result is not
    storable JSON.
    """
    stored = check_json(result)
    with transaction.atomic():
        if transition(_held(job_uuid, fence), JobState.LEASED, JobState.SUCCEEDED, result=stored):
            job = Job.objects.get(uuid=job_uuid)
            note(job, "Succeeded.")
            flow_settle(job)
            attempt_end(job, AttemptEnd.SUCCEEDED)
            study_count(job)
        elif not _has_ended(job_uuid, fence, JobState.SUCCEEDED):
            raise lease_lost(job_uuid, fence)


def job_fail(
    *, job_uuid: str, fence: int, failure_class: FailureClass, code: str, detail: str
) -> None:
    """End an attempt as failed.

    A failure of class ``infrastructure`` is not charged: the job is queued again after a pause,
    until it was claimed ``max_attempts * CLAIMS_PER_ATTEMPT`` times, not counting yields. A failure
    of any other class ends the job. Raises ``Conflict`` ``lease_lost``, and ``ValueError`` for an
    unknown failure class or code.
    """
    if code not in CODES:
        raise ValueError(f"error code {code!r} is not listed in registry.errors.CODES")
    failure = Failure(FailureClass(failure_class), code, printable(detail))
    with transaction.atomic():
        if _has_ended(job_uuid, fence, JobState.FAILED):
            return
        job = held_job(job_uuid=job_uuid, fence=fence)
        if failure.failure_class == FailureClass.INFRASTRUCTURE:
            end_attempt(_held(job_uuid, fence), job, failure, charged=False, pause=True)
            return
        fail_attempt(_held(job_uuid, fence), job, failure)


def job_release(*, job_uuid: str, fence: int) -> None:
    """End an attempt uncharged, because the worker stops or the job is to be cancelled.

    Raises ``Conflict`` ``lease_lost``.
    """
    failure = Failure(
        FailureClass.INFRASTRUCTURE, "job_interrupted", "Its worker was stopped too often."
    )
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        end_attempt(_held(job_uuid, fence), job, failure, charged=False)


def job_yield(
    *, job_uuid: str, fence: int, reason: str = "It yields to a search.", estimate_s: float = 0.0
) -> None:
    """End an attempt uncharged, in favour of another job; allowed any number of times.

    Args:
        estimate_s: Seconds that the next attempt is expected to take, at most the limit of a run;
            0: as before.

    Raises ``Conflict`` ``lease_lost``.
    """
    failure = Failure(FailureClass.INFRASTRUCTURE, "job_interrupted", reason)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        job.yields += 1
        job.save(update_fields=["yields"])
        end_attempt(_held(job_uuid, fence), job, failure, charged=False)
        if estimate_s:
            limit_s = run_limit_s(estimate_s_of(JobKind(job.kind), job.parameters))
            flow_reestimate(job, min(estimate_s, limit_s))


def _claimant(device_name: str | None, target: str | None) -> Device | None:
    device = device_get(device_name) if device_name else None
    if target and (device is None or device.target.slug != target):
        raise Invalid(
            "invalid_target",
            f"{device_name or 'A worker without a device'} is not a device of target {target}.",
            "Register the device for that target first.",
        )
    if device:
        device_seen(device=device)
    return device


def _held(job_uuid: str, fence: int) -> QuerySet[Job]:
    return Job.objects.filter(uuid=parse_uuid(job_uuid), state=JobState.LEASED, fence=fence)


def _has_ended(job_uuid: str, fence: int, state: JobState) -> bool:
    return Job.objects.filter(uuid=parse_uuid(job_uuid), state=state, fence=fence).exists()
