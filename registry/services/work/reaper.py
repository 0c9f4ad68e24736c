"""What nobody else will do: end what went silent, ring for what waits unheard."""

from datetime import timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from registry import dispatch
from registry.selectors.work.target import targets_served
from registry.services.work.device import device_check
from registry.services.work.lease import RING_AGAIN_AFTER_S, Failure, end_attempt
from registry.states import FailureClass, JobState
from registry.tables import Job

#: One bell makes a worker do all it can find, so a long queue needs no more than a few.
_BELLS_PER_QUEUE = 4


def job_reap() -> int:
    """Take expired leases away, check devices, ring again for jobs that wait unheard.

    Safe to run at any time, by several processes at once.

    Returns:
        Number of leases taken away.
    """
    expired = Job.objects.filter(state=JobState.LEASED, lease_until__lt=timezone.now())
    reaped = sum(_reap(pk) for pk in expired.order_by("lease_until").values_list("pk", flat=True))
    device_check()
    _ring_again()
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


def _ring_again() -> None:
    now = timezone.now()
    # Where no device is online nobody would hear: bells would only pile up in the broker.
    unheard = Job.objects.filter(
        Q(target=None) | Q(target__in=targets_served()),
        state=JobState.QUEUED,
        rung_at__lt=now - timedelta(seconds=RING_AGAIN_AFTER_S),
    )
    for kind, target in set(unheard.values_list("kind", "target")):
        waiting = unheard.filter(kind=kind, target=target)
        first = list(waiting.select_related("target").order_by("priority", "id")[:_BELLS_PER_QUEUE])
        # Of several reapers, the one whose UPDATE finds rows rings.
        if waiting.update(rung_at=now):
            for job in first:
                dispatch.ring(job)
