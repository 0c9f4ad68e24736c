"""Claims of jobs: a free worker takes the next job of the flow that is due."""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from django.db import transaction
from django.utils import timezone

from registry.selectors.work.matching import fitting_requirements
from registry.selectors.work.queue import DueJobs, flows_due, queue_name
from registry.selectors.work.waitreason import accounts_at_cap
from registry.services.work.flow import flow_lock, flow_rest, flow_serve, next_job
from registry.services.work.jobattempt import attempt_begin
from registry.services.work.lease import lease_end, note, transition
from registry.states import HUB_JOBS, DeviceState, JobKind, JobState
from registry.tables import Device, Job, JobFlow, JobQueue

# Rounds in which flows that other workers hold are waited for, after one that passes them over.
_PATIENT_ROUNDS = 4


class _DeviceWithdrawn(Exception):
    """The device was put into a state in which it gets no jobs."""


def job_take(
    kinds: list[JobKind],
    device: Device | None,
    *,
    is_quick: bool,
    available_s: float | None = None,
    cached: frozenset[str] = frozenset(),
) -> Job | None:
    """Lease the next job of these kinds, for the device's target if there is one.

    A device that is not ``active`` gets none, and none that it does not fit by
    :mod:`registry.matching`. Jobs of accounts that hold their share of the target's devices are
    passed over.

    Args:
        available_s: Seconds for which the device is still available; ``None`` without a limit.
        cached: Digests of the files in its cache.
    """
    if device is not None and device.state != DeviceState.ACTIVE:
        return None
    due = DueJobs(
        tuple(kinds),
        is_quick=is_quick,
        fitting=fitting_requirements(device, available_s),
        cached=cached,
    )
    with suppress(_DeviceWithdrawn):
        return _next(_queues(kinds, device), device, due)
    return None


def _next(queues: Iterable[JobQueue], device: Device | None, due: DueJobs) -> Job | None:
    """Lease the first job of the queues. Raises ``_DeviceWithdrawn``."""
    capped = accounts_at_cap(device.target) if device else set()
    for queue in queues:
        for wait in (False, *[True] * _PATIENT_ROUNDS):
            is_contended = False
            for page in flows_due(queue, due):
                for flow in page:
                    if flow.account_id in capped:
                        continue
                    job = _take(flow, device, due, wait=wait)
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


def _take(flow: JobFlow, device: Device | None, due: DueJobs, *, wait: bool) -> Job | None:
    """Lease the next job of a flow; ``None`` if it has none, or if another worker holds it. Raises
    ``_DeviceWithdrawn``."""
    if flow.any_job and not flow.next_job:  # type: ignore[attr-defined]
        return None
    now = timezone.now()
    with transaction.atomic():
        held = flow_lock(flow, wait=wait)
        if held is None:
            return None
        job = next_job(held, due)
        if job is None:
            flow_rest(held)
            return None
        columns: dict[str, Any] = {
            "fence": job.fence + 1,
            "attempt": job.attempt + 1,
            "device": device,
            "lease_until": lease_end(now),
            "heartbeat_at": now,
            "started_at": now,
            "running_since": None,
            "candidate": "",
            "progress": {},
        }
        transition(Job.objects.filter(pk=job.pk), JobState.QUEUED, JobState.LEASED, **columns)
        for name, value in {"state": JobState.LEASED, **columns}.items():
            setattr(job, name, value)
        flow_serve(held, job)
        attempt_begin(job, held)
        note(job, f"Attempt {job.attempt} begins on {device or 'the hub'}.")
        if device is not None and not _is_active(device):
            raise _DeviceWithdrawn
        return job


def _is_active(device: Device) -> bool:
    """Whether a device gets jobs, by its row, which stays locked until the transaction ends.

    So a change of state that ends the jobs of the device is either committed before the claim, or
    ends this job once the claim is committed. Transactions lock the row of a device last.
    """
    rows = Device.objects.select_for_update(of=("self",)).filter(pk=device.pk)
    return rows.values_list("state", flat=True).get() == DeviceState.ACTIVE
