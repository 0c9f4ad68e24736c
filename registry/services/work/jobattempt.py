"""Rows of attempts at jobs, for the fleet page and the metrics. Each ends once."""

from django.utils import timezone

from registry.services.work.devicestate import device_attempt_add
from registry.states import AttemptEnd, FailureClass
from registry.tables import Job, JobAttempt, JobFlow

#: Ends that have a class of failure.
_WITH_CLASS = frozenset({AttemptEnd.FAILED, AttemptEnd.LOST})


def attempt_begin(job: Job, flow: JobFlow) -> None:
    """Store the claim of a job of a flow; call it in the transaction of the claim."""
    started_at = job.started_at or timezone.now()
    # A pause does not count as waiting: until its end nobody may claim the job.
    queued_at = job.not_before or job.notified_at
    JobAttempt.objects.create(
        job=job,
        fence=job.fence,
        device_id=job.device_id,
        target_id=job.target_id,
        account_id=flow.account_id,
        level=flow.level,
        wait_s=max(0.0, (started_at - queued_at).total_seconds()),
        started_at=started_at,
    )


def attempt_end(
    job: Job, end: AttemptEnd, failure_class: FailureClass | str = "", *, is_reported: bool = True
) -> None:
    """Store the end of the claim whose fence ``job`` has; call it in the transaction of the end.

    Ending an attempt twice has no effect.

    Args:
        is_reported: Whether the worker reported a failure. If not, the hub ended the job at its
            time limit, which counts as a failure of the machine.
    """
    now = timezone.now()
    rows = JobAttempt.objects.filter(job=job.pk, fence=job.fence)
    stored_class = failure_class if end in _WITH_CLASS else ""
    if not rows.filter(end="").update(end=end, ended_at=now, failure_class=stored_class):
        return
    attempt = rows.get()
    if attempt.device_id is not None:
        run_s = (now - attempt.started_at).total_seconds()
        is_failure = end == AttemptEnd.LOST or stored_class == FailureClass.INFRASTRUCTURE
        device_attempt_add(
            device_id=attempt.device_id,
            run_s=run_s,
            end=end,
            has_failed=is_failure or not is_reported,
        )
