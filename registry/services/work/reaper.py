"""The reaper: ends expired leases and jobs beyond their time limits, and repeats notifications of
jobs that stay queued."""

from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry import dispatch
from registry.selectors.work.queue import queue_name
from registry.selectors.work.target import targets_served
from registry.services.work.ban import crash_add
from registry.services.work.catchup import catch_ups_continue
from registry.services.work.device import device_check
from registry.services.work.flow import estimate_s, flows_assign, flows_mark, run_limit_s
from registry.services.work.improvement import improvements_continue
from registry.services.work.jobblob import uploads_prune
from registry.services.work.jobwrite import writes_prune
from registry.services.work.lease import (
    NOTIFY_AGAIN_AFTER_S,
    Failure,
    end_attempt,
    fail_attempt,
)
from registry.services.work.rerank import reranks_continue
from registry.states import HUB_JOBS, FailureClass, JobKind, JobState
from registry.tables import Job, JobQueue

#: One notification makes a worker do all jobs it may claim, so a few suffice for a long queue.
_NOTIFICATIONS_PER_QUEUE = 4
#: Jobs whose flows are marked as waiting when notifications are repeated, should a mark be missing.
_MARKED_JOBS = 50


def job_reap(*, ends_leases: bool = True) -> int:
    """End expired leases, returning their number; end jobs beyond their time limits; check devices;
    queue catch-up jobs of targets and devices; rewrite the best builds of models whose devices lost
    or regained trust; queue searches for idle devices; repeat lost notifications; delete numbered
    writes of ended attempts.

    Safe to run at any time, by several processes at once.

    Args:
        ends_leases: Whether to end expired leases. Not soon after the hub has started: devices
            could not renew them while it was down.
    """
    reaped = _end_leases() if ends_leases else 0
    _end_overdue()
    device_check()
    flows_assign()
    catch_ups_continue()
    reranks_continue()
    improvements_continue()
    writes_prune()
    uploads_prune()
    _notify_again()
    return reaped


def _end_leases() -> int:
    expired = Job.objects.filter(state=JobState.LEASED, lease_until__lt=timezone.now())
    return sum(_reap(pk) for pk in expired.order_by("lease_until").values_list("pk", flat=True))


def _reap(pk: int) -> bool:
    with transaction.atomic():
        # Filtered by the lease again: a heartbeat may have come in since.
        rows = Job.objects.filter(pk=pk, state=JobState.LEASED, lease_until__lt=timezone.now())
        job = rows.select_for_update(of=("self",)).select_related("target", "device").first()
        if job is None:
            return False
        failure = Failure(
            FailureClass.INFRASTRUCTURE,
            "job_interrupted",
            f"The worker of attempt {job.attempt} went silent.",
        )
        crash_add(job)
        return end_attempt(rows.order_by(), job, failure, charged=True)


def _end_overdue() -> None:
    """Fail jobs that exceed their time limits. Their devices may never notice this themselves."""
    now = timezone.now()
    least = now - timedelta(seconds=run_limit_s(0.0))
    leased = Job.objects.filter(state=JobState.LEASED, running_since__lt=least)
    for pk, fence, kind, parameters, since in leased.values_list(
        "pk", "fence", "kind", "parameters", "running_since"
    ):
        limit_s = run_limit_s(estimate_s(JobKind(kind), parameters))
        if since is not None and (now - since).total_seconds() > limit_s:
            _end_run(pk, fence, limit_s)


def _end_run(pk: int, fence: int, limit_s: float) -> None:
    detail = f"The job took longer than {limit_s:.0f} s."
    with transaction.atomic():
        rows = Job.objects.filter(pk=pk, state=JobState.LEASED, fence=fence)
        job = rows.select_for_update(of=("self",)).select_related("target").first()
        if job is not None:
            failure = Failure(FailureClass.TIMEOUT, "job_timeout", detail)
            fail_attempt(rows, job, failure, is_reported=False)


def _notify_again() -> None:
    queued = Job.objects.filter(state=JobState.QUEUED)
    for kind in HUB_JOBS:
        _notify_queue(queue_name(kind, None), queued.filter(kind=kind, target=None))
    # Without an online device messages would only pile up in the broker.
    for target in targets_served():
        _notify_queue(queue_name(JobKind.TUNE, target), queued.filter(target=target))


def _notify_queue(name: str, queued: QuerySet[Job]) -> None:
    """Repeat notifications of a queue with overdue jobs: once a minute, and when a job becomes
    overdue that was not at the last time."""
    now = timezone.now()
    queue = JobQueue.objects.filter(name=name).first()
    age = timedelta(seconds=NOTIFY_AGAIN_AFTER_S)
    overdue = queued.filter(notified_at__lt=now - age).select_related("target")
    if queue is None or not (first := list(_oldest(overdue)[:_NOTIFICATIONS_PER_QUEUE])):
        return
    last = queue.notified_at
    if last is not None and last >= now - age and not overdue.filter(notified_at__gte=last - age):
        return
    # Of several reapers, the one whose UPDATE matches the row notifies.
    if JobQueue.objects.filter(pk=queue.pk, notified_at=last).update(notified_at=now):
        flows_mark(_oldest(overdue)[:_MARKED_JOBS])
        for job in first:
            dispatch.notify(job)


def _oldest(jobs: QuerySet[Job]) -> QuerySet[Job]:
    return jobs.order_by("notified_at", "id")
