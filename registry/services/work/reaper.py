"""The reaper: ends expired leases and repeats notifications of jobs that stay queued."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry import dispatch
from registry.selectors.work.target import targets_served
from registry.services.work.device import device_check
from registry.services.work.lease import NOTIFY_AGAIN_AFTER_S, Failure, end_attempt
from registry.states import FailureClass, JobState
from registry.tables import Job

#: One notification makes a worker do all jobs it may claim, so a few suffice for a long queue.
_NOTIFICATIONS_PER_QUEUE = 4


def job_reap() -> int:
    """End expired leases, returning their number; check devices; repeat lost notifications.

    Safe to run at any time, by several processes at once.
    """
    expired = Job.objects.filter(state=JobState.LEASED, lease_until__lt=timezone.now())
    reaped = sum(_reap(pk) for pk in expired.order_by("lease_until").values_list("pk", flat=True))
    device_check()
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
    now = timezone.now()
    # Without an online device messages would only pile up in the broker.
    overdue = Job.objects.filter(
        Q(target=None) | Q(target__in=targets_served()),
        state=JobState.QUEUED,
        notified_at__lt=now - timedelta(seconds=NOTIFY_AGAIN_AFTER_S),
    )
    for kind, target in set(overdue.values_list("kind", "target")):
        waiting = overdue.filter(kind=kind, target=target)
        first = list(
            waiting.select_related("target").order_by("priority", "id")[:_NOTIFICATIONS_PER_QUEUE]
        )
        # Of several reapers, the one whose UPDATE matches rows notifies.
        if waiting.update(notified_at=now):
            for job in first:
                dispatch.notify(job)
