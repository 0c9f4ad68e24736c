"""The reaper: ends expired leases and repeats notifications of jobs that stay queued."""

from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from registry import dispatch
from registry.selectors.work.queue import queue_name
from registry.selectors.work.target import targets_served
from registry.services.work.device import device_check
from registry.services.work.flow import flows_assign, flows_mark
from registry.services.work.lease import NOTIFY_AGAIN_AFTER_S, Failure, end_attempt
from registry.states import HUB_JOBS, FailureClass, JobKind, JobState
from registry.tables import Job, JobQueue

#: One notification makes a worker do all jobs it may claim, so a few suffice for a long queue.
_NOTIFICATIONS_PER_QUEUE = 4
#: Jobs whose flows are marked as waiting when notifications are repeated, should a mark be missing.
_MARKED_JOBS = 50


def job_reap() -> int:
    """End expired leases, returning their number; check devices; repeat lost notifications.

    Safe to run at any time, by several processes at once.
    """
    expired = Job.objects.filter(state=JobState.LEASED, lease_until__lt=timezone.now())
    reaped = sum(_reap(pk) for pk in expired.order_by("lease_until").values_list("pk", flat=True))
    device_check()
    flows_assign()
    _notify_again()
    return reaped


def _reap(pk: int) -> bool:
    with transaction.atomic():
        # Filtered by the lease again: a heartbeat may have come in since.
        rows = Job.objects.filter(pk=pk, state=JobState.LEASED, lease_until__lt=timezone.now())
        job = rows.select_for_update(of=("self",)).select_related("target").first()
        if job is None:
            return False
        failure = Failure(
            FailureClass.INFRASTRUCTURE,
            "job_interrupted",
            f"The worker of attempt {job.attempt} went silent.",
        )
        return end_attempt(rows.order_by(), job, failure, charged=True)


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
