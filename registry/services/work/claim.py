"""Claims of jobs: a free worker takes the next job of the flow that is due."""

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from registry.selectors.work.queue import flows_due, queue_name
from registry.services.work.flow import flow_lock, flow_rest, flow_serve, next_job
from registry.services.work.lease import lease_end, note, transition
from registry.states import HUB_JOBS, JobKind, JobState
from registry.tables import Device, Job, JobFlow, JobQueue

# Rounds in which flows that other workers hold are waited for, after one that passes them over.
_PATIENT_ROUNDS = 4


def job_take(kinds: list[JobKind], device: Device | None, *, is_quick: bool) -> Job | None:
    """Lease the next job of these kinds, for the device's target if there is one."""
    for queue in _queues(kinds, device):
        for wait in (False, *[True] * _PATIENT_ROUNDS):
            is_contended = False
            for page in flows_due(queue, kinds, is_quick=is_quick):
                for flow in page:
                    job = _take(flow, kinds, device, wait=wait, is_quick=is_quick)
                    if job is not None:
                        return job
                    is_contended |= bool(flow.next_job)  # type: ignore[attr-defined]
            if not is_contended:
                break
    return None


def _queues(kinds: list[JobKind], device: Device | None) -> list[JobQueue]:
    """The queues that a worker serves, in this order."""
    names = [queue_name(kind, None) for kind in kinds if kind in HUB_JOBS]
    if device and device.target.enabled and any(kind not in HUB_JOBS for kind in kinds):
        names.append(queue_name(JobKind.TUNE, device.target))
    rows = {row.name: row for row in JobQueue.objects.filter(name__in=names)}
    return [rows[name] for name in names if name in rows]


def _take(
    flow: JobFlow, kinds: list[JobKind], device: Device | None, *, wait: bool, is_quick: bool
) -> Job | None:
    """Lease the next job of a flow; ``None`` if it has none, or if another worker holds it."""
    if flow.any_job and not flow.next_job:  # type: ignore[attr-defined]
        return None
    now = timezone.now()
    with transaction.atomic():
        held = flow_lock(flow, wait=wait)
        if held is None:
            return None
        job = next_job(held, kinds, is_quick=is_quick)
        if job is None:
            flow_rest(held)
            return None
        transition(
            Job.objects.filter(pk=job.pk),
            JobState.QUEUED,
            JobState.LEASED,
            fence=F("fence") + 1,
            attempt=F("attempt") + 1,
            device=device,
            lease_until=lease_end(now),
            heartbeat_at=now,
            started_at=now,
            progress={},
        )
        flow_serve(held, job)
        job = Job.objects.select_related("revision__mlmodel__namespace", "target", "device").get(
            pk=job.pk
        )
        note(job, f"Attempt {job.attempt} begins on {device or 'the hub'}.")
        return job
