"""Leases of jobs: state transitions, the check of the fence, and the end of an attempt.

Used by all services that write on behalf of a job.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import F, QuerySet
from django.utils import timezone

from registry import dispatch
from registry.errors import Conflict, Invalid
from registry.ids import parse_uuid
from registry.services.work.flow import flow_settle, flow_wake
from registry.services.work.jobattempt import attempt_end
from registry.states import AttemptEnd, FailureClass, JobState
from registry.tables import Job, JobEvent, Target
from registry.transitions import JOB_ENDED, JOB_TRANSITIONS
from registry.validation.texts import printable

#: Upper bound on claims of a job, yields not counted, as a multiple of ``max_attempts``.
CLAIMS_PER_ATTEMPT = 3
#: Workers are notified again of a job that is queued for longer: a notification may get lost.
NOTIFY_AGAIN_AFTER_S = 60.0
_LONGEST_PAUSE_S = 60.0


@dataclass(frozen=True, slots=True)
class Failure:
    """The reason why an attempt failed."""

    failure_class: FailureClass
    code: str
    detail: str


def transition(rows: QuerySet[Job], source: JobState, to: JobState, **columns: Any) -> bool:
    """Move the one job in ``rows`` from ``source`` to ``to``; returns whether this caller did.

    Raises ``ValueError`` if :data:`~registry.transitions.JOB_TRANSITIONS` has no such transition.
    """
    if to not in JOB_TRANSITIONS[source]:
        raise ValueError(f"a job does not go from {source} to {to}")
    if to in JOB_ENDED:
        columns |= {"ended_at": timezone.now(), "lease_until": None, "secret": ""}
    return rows.filter(state=source).update(state=to, **columns) == 1


def held_job(*, job_uuid: str, fence: int) -> Job:
    """The job, if the claim with that fence still holds it. Call it inside a transaction.

    The row stays locked until the transaction ends, so that no other worker claims the job before
    the writes that depend on this check. Raises ``Conflict`` ``lease_lost``.
    """
    job = (
        Job.objects.select_for_update(of=("self",))
        .select_related("target", "device", "revision__mlmodel__namespace")
        .filter(uuid=parse_uuid(job_uuid), state=JobState.LEASED, fence=fence)
        .first()
    )
    if job is None:
        raise lease_lost(job_uuid, fence)
    return job


def lease_end(now: datetime) -> datetime:
    """The end of a lease that is taken or renewed now."""
    return now + timedelta(seconds=settings.JOB_LEASE_S)


def target_of(job: Job) -> Target:
    """The target of a job that must have one. Raises ``Invalid`` ``invalid_target``."""
    if job.target is None:
        raise Invalid("invalid_target", f"Job {job.uuid} has no target to publish results for.")
    return job.target


def lease_lost(job_uuid: str, fence: int) -> Conflict:
    """The error of a write whose fence is out of date."""
    return Conflict(
        "lease_lost",
        f"Claim {fence} no longer holds job {job_uuid}.",
        "Stop working on it: the job has ended or was claimed again.",
    )


def note(job: Job, message: str) -> None:
    """Add a line to the job's log."""
    JobEvent.objects.create(job=job, message=printable(message))


def delay_columns(seconds: float) -> dict[str, Any]:
    """The columns of a queued job that is not to be claimed for so many seconds from now."""
    now = timezone.now()
    if not seconds:
        return {"not_before": None, "notified_at": now}
    until = now + timedelta(seconds=seconds)
    # Such a date that the reaper notifies workers as soon as the pause is over.
    return {"not_before": until, "notified_at": until - timedelta(seconds=NOTIFY_AGAIN_AFTER_S)}


def end_attempt(
    rows: QuerySet[Job], job: Job, failure: Failure, *, charged: bool, pause: bool = False
) -> bool:
    """End an attempt that has no result: cancel the job, queue it again, or fail it.

    Args:
        rows: The job, filtered by the conditions that must still hold.
        job: The same job, read and locked in the current transaction.
        failure: Stored if no further attempt is allowed.
        charged: Whether this attempt counts towards ``max_attempts``.
        pause: Whether the next attempt waits 2, 4, 8 ... at most 60 seconds, so that a broken
            machine has time to recover.

    Returns:
        Whether this caller changed the job's state.
    """
    if job.cancel_requested:
        has_changed = transition(rows, JobState.LEASED, JobState.CANCELLED)
        message = "Cancelled."
    elif (charged and job.attempt >= job.max_attempts) or (
        job.fence - job.yields >= job.max_attempts * CLAIMS_PER_ATTEMPT
    ):
        has_changed = transition(
            rows,
            JobState.LEASED,
            JobState.FAILED,
            failure_class=failure.failure_class,
            failure_code=failure.code,
            failure_detail=failure.detail,
        )
        message = f"Failed: {failure.detail}"
    else:
        has_changed = _queue_again(rows, job, charged=charged, pause=pause)
        message = f"Queued again: {failure.detail}"
    if has_changed:
        note(job, message)
        flow_settle(job)
        attempt_end(job, _attempt_end(job, charged=charged, pause=pause), failure.failure_class)
    return has_changed


def fail_attempt(
    rows: QuerySet[Job], job: Job, failure: Failure, *, is_reported: bool = True
) -> None:
    """End a job as failed; arguments as of :func:`end_attempt`.

    ``is_reported``: whether the worker reported the failure. If not, it counts as a failure of the
    worker's machine.
    """
    transition(
        rows,
        JobState.LEASED,
        JobState.FAILED,
        failure_class=failure.failure_class,
        failure_code=failure.code,
        failure_detail=failure.detail,
    )
    note(job, f"Failed: {failure.detail}")
    flow_settle(job)
    attempt_end(job, AttemptEnd.FAILED, failure.failure_class, is_reported=is_reported)


def _attempt_end(job: Job, *, charged: bool, pause: bool) -> AttemptEnd:
    """The end of an attempt without a result, by the arguments of :func:`end_attempt`."""
    if job.cancel_requested:
        return AttemptEnd.CANCELLED
    if charged:
        return AttemptEnd.LOST
    return AttemptEnd.FAILED if pause else AttemptEnd.RELEASED


def _queue_again(rows: QuerySet[Job], job: Job, *, charged: bool, pause: bool) -> bool:
    seconds = min(_LONGEST_PAUSE_S, 2.0 ** (job.fence - job.attempt + 1)) if pause else 0.0
    columns = delay_columns(seconds)
    if not charged:
        columns["attempt"] = F("attempt") - 1
    has_changed = transition(
        rows, JobState.LEASED, JobState.QUEUED, device=None, lease_until=None, **columns
    )
    if has_changed:
        flow_wake(job)
        if not pause:
            dispatch.notify(job)
    return has_changed
