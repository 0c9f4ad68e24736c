"""The database-backed job queue: submit, claim, report, end.

::

               submit
                 |
                 v        claim (fence + 1, attempt + 1)
              queued --------------------------------------> leased
                 ^                                             |
                 |  infrastructure failed (attempt - 1)        |-- succeed --> succeeded
                 |  released by its worker (attempt - 1)       |-- fail -----> failed
                 +--- lease expired, attempts left ------------|
                 |                                             |-- no attempts left --> failed
                 +-- cancel --> cancelled <-- cancel asked for,
                                              then given back -+

Every arrow is one filtered UPDATE of :data:`registry.states.JOB_TRANSITIONS` whose row count says
who won. A worker names the fence of its claim in every write: once somebody else holds the job,
or nobody does, the write is refused as ``lease_lost`` and changes nothing.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from registry import dispatch
from registry.errors import CODES, Conflict, Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, person, require
from registry.selectors.results.graph import graph_of
from registry.selectors.work.device import device_get
from registry.selectors.work.job import job_ticket
from registry.services.audit import audit
from registry.services.work.device import device_seen
from registry.services.work.lease import (
    Failure,
    end_attempt,
    held_job,
    lease_lost,
    note,
    transition,
)
from registry.states import HUB_JOBS, FailureClass, JobKind, JobState, Role
from registry.tables import Device, Job, Revision, Target
from registry.tickets import HeartbeatReply, JobTicket
from registry.validation.document import check_json, printable
from registry.validation.search import check_search

_OPEN = (JobState.QUEUED, JobState.LEASED)
_SUBMIT_TRIES = 20


def job_submit(
    *,
    actor: Actor,
    kind: JobKind,
    revision: Revision,
    target: Target | None = None,
    parameters: dict[str, Any] | None = None,
    priority: int = 100,
) -> Job:
    """Ask for work. Where the same work is already open, that job is the answer.

    One that the hub planned for later, and nobody has begun, becomes that of whoever cannot wait.

    Args:
        parameters: Of a tune job: see :func:`registry.validation.search.check_search`.
        priority: Lower runs first.

    Raises:
        Unauthenticated, Forbidden: the actor may not write to the model.
        Invalid: ``invalid_target``, ``graph_not_found`` before inspection, ``invalid_request``.
    """
    require(actor, role=Role.WRITE, namespace=revision.mlmodel.namespace)
    _check_submission(kind, revision, target, parameters or {})
    identity = {"kind": kind, "revision": revision, "target": target}
    for tries_left in reversed(range(_SUBMIT_TRIES)):
        existing = Job.objects.filter(**identity, state__in=_OPEN).first()
        if existing:
            return _taken_over(existing, actor, parameters or {}, priority)
        try:
            with transaction.atomic():
                job = Job.objects.create(
                    **identity,
                    parameters=parameters or {},
                    priority=priority,
                    requested_by=person(actor),
                )
                _audit(actor, "job.submit", job)
                dispatch.notify(job)
                return job
        except IntegrityError:
            # Somebody asked for the same in this moment; theirs is the answer, unless it has
            # already ended again. Or the revision is gone, and no try will help.
            if not tries_left:
                raise
    raise AssertionError("the loop above returns or raises")


def _taken_over(job: Job, actor: Actor, parameters: dict[str, Any], priority: int) -> Job:
    ours = Job.objects.filter(
        pk=job.pk, state=JobState.QUEUED, requested_by=None, priority__gt=priority
    )
    columns = {"parameters": parameters, "priority": priority, "requested_by": person(actor)}
    with transaction.atomic():
        if ours.update(**columns):
            job.refresh_from_db()
            _audit(actor, "job.submit", job)
    return job


def job_cancel(*, actor: Actor, job: Job) -> Job:
    """Call work off: at once while it waits, else as soon as its worker hears of it.

    Raises:
        Unauthenticated, Forbidden: the actor may not write to the model.
        Conflict: ``already_ended``, unless it ended by being cancelled.
    """
    require(actor, role=Role.WRITE, namespace=job.revision.mlmodel.namespace)
    rows = Job.objects.filter(pk=job.pk)
    with transaction.atomic():
        # Locked, so that it cannot go from one state to the other between the two questions.
        list(rows.select_for_update())
        if transition(rows, JobState.QUEUED, JobState.CANCELLED):
            message = "Cancelled before it began."
        elif rows.filter(state=JobState.LEASED, cancel_requested=False).update(
            cancel_requested=True
        ):
            message = "Cancellation asked for."
        elif rows.filter(state__in=[JobState.LEASED, JobState.CANCELLED]).exists():
            message = ""
        else:
            raise Conflict("already_ended", f"Job {job.uuid} has already ended.")
        if message:
            note(job, message)
            _audit(actor, "job.cancel", job)
    job.refresh_from_db()
    return job


def job_claim(
    *, device_name: str | None, kinds: list[JobKind], target: str | None
) -> JobTicket | None:
    """Take the best waiting job: lowest priority number, then the oldest.

    Args:
        device_name: The machine that asks; needed for jobs that have a target.
        kinds: Kinds of job the worker can do.
        target: The machine's target; without one, only jobs without a target are offered.

    Returns:
        The job, held until its lease runs out; ``None`` if nothing waits.

    Raises:
        NotFound: ``device_not_found``.
        Invalid: ``invalid_target``: the device is not of that target.
    """
    device = _claimant(device_name, target)
    while True:
        best = _queue(kinds, target).values("pk", "fence").first()
        if best is None:
            return None
        now = timezone.now()
        with transaction.atomic():
            # The fence is compared too: the job may have been claimed, and queued again, since.
            won = transition(
                Job.objects.filter(pk=best["pk"], fence=best["fence"]),
                JobState.QUEUED,
                JobState.LEASED,
                fence=F("fence") + 1,
                attempt=F("attempt") + 1,
                device=device,
                lease_until=_lease_end(now),
                heartbeat_at=now,
                started_at=now,
                progress={},
            )
            if won:
                job = Job.objects.select_related("revision__mlmodel__namespace").get(pk=best["pk"])
                note(job, f"Attempt {job.attempt} begins on {device or 'the hub'}.")
                return job_ticket(job)


def job_heartbeat(*, job_uuid: str, fence: int) -> HeartbeatReply:
    """Renew a lease, and hear whether the work is still wanted.

    Raises:
        Conflict: ``lease_lost``.
    """
    now = timezone.now()
    with transaction.atomic():
        if not _held(job_uuid, fence).update(lease_until=_lease_end(now), heartbeat_at=now):
            raise lease_lost(job_uuid, fence)
        job = Job.objects.select_related("device").get(uuid=job_uuid)
        if job.device:
            device_seen(device=job.device)
    return HeartbeatReply(cancel=job.cancel_requested)


def job_progress(
    *, job_uuid: str, fence: int, phase: str, done: int, total: int | None, message: str
) -> None:
    """Tell people where the work is.

    Raises:
        Conflict: ``lease_lost``.
    """
    progress = {"phase": phase, "done": done, "total": total, "message": printable(message[:500])}
    if not _held(job_uuid, fence).update(progress=progress):
        raise lease_lost(job_uuid, fence)


def job_note(*, job_uuid: str, fence: int, message: str) -> None:
    """Add a line to the job's log.

    Raises:
        Conflict: ``lease_lost``.
    """
    with transaction.atomic():
        note(held_job(job_uuid=job_uuid, fence=fence), message)


def job_succeed(*, job_uuid: str, fence: int, result: dict[str, Any]) -> None:
    """End a job well. Saying so twice is saying so once.

    Raises:
        Conflict: ``lease_lost``.
        Invalid: ``invalid_request``: the result is not storable JSON.
    """
    stored = check_json(result)
    with transaction.atomic():
        if transition(_held(job_uuid, fence), JobState.LEASED, JobState.SUCCEEDED, result=stored):
            note(Job.objects.get(uuid=job_uuid), "Succeeded.")
        elif not _ended_so(job_uuid, fence, JobState.SUCCEEDED):
            raise lease_lost(job_uuid, fence)


def job_fail(
    *, job_uuid: str, fence: int, failure_class: FailureClass, code: str, detail: str
) -> None:
    """End an attempt badly. Saying so twice is saying so once.

    A failure of the infrastructure charges nobody: the job is queued again, after a pause, until
    it has been claimed ``max_attempts * CLAIMS_PER_ATTEMPT`` times besides those it gave way. Any
    other is the job's end.

    Raises:
        Conflict: ``lease_lost``.
        ValueError: no such failure class or code.
    """
    if code not in CODES:
        raise ValueError(f"error code {code!r} is not listed in registry.errors.CODES")
    failure = Failure(FailureClass(failure_class), code, printable(detail))
    with transaction.atomic():
        if _ended_so(job_uuid, fence, JobState.FAILED):
            return
        job = held_job(job_uuid=job_uuid, fence=fence)
        if failure.failure_class == FailureClass.INFRASTRUCTURE:
            end_attempt(_held(job_uuid, fence), job, failure, charged=False, pause=True)
            return
        transition(
            _held(job_uuid, fence),
            JobState.LEASED,
            JobState.FAILED,
            failure_class=failure.failure_class,
            failure_code=failure.code,
            failure_detail=failure.detail,
        )
        note(job, f"Failed: {failure.detail}")


def job_release(*, job_uuid: str, fence: int) -> None:
    """Give a held job back unfinished, uncharged: its worker stops, or heard of a cancellation.

    Raises:
        Conflict: ``lease_lost``.
    """
    failure = Failure(
        FailureClass.INFRASTRUCTURE, "job_interrupted", "Its worker was stopped too often."
    )
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        end_attempt(_held(job_uuid, fence), job, failure, charged=False)


def job_yield(*, job_uuid: str, fence: int) -> None:
    """Give a held job back for one that comes first. However often, that is no failure.

    Raises:
        Conflict: ``lease_lost``.
    """
    failure = Failure(FailureClass.INFRASTRUCTURE, "job_interrupted", "It gives way to a search.")
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        job.yields += 1
        job.save(update_fields=["yields"])
        end_attempt(_held(job_uuid, fence), job, failure, charged=False)


def _audit(actor: Actor, action: str, job: Job) -> None:
    mlmodel = job.revision.mlmodel
    audit(
        actor=actor,
        action=action,
        subject=f"{mlmodel.full_name}@{job.revision.oid}",
        namespace=mlmodel.namespace.name,
        detail={
            "job": str(job.uuid),
            "kind": job.kind,
            "target": job.target.slug if job.target else None,
        },
    )


def _queue(kinds: list[JobKind], target: str | None) -> QuerySet[Job]:
    fits = Q(target=None)
    if target:
        fits |= Q(target__slug=target, target__enabled=True)
    ready = Q(not_before=None) | Q(not_before__lte=timezone.now())
    waiting = Job.objects.filter(fits, ready, state=JobState.QUEUED, kind__in=kinds)
    return waiting.order_by("priority", "id")


def _claimant(device_name: str | None, target: str | None) -> Device | None:
    device = device_get(device_name) if device_name else None
    if target and (device is None or device.target.slug != target):
        raise Invalid(
            "invalid_target",
            f"{device_name or 'A nameless worker'} is not a device of target {target}.",
            "Register the device for that target first.",
        )
    if device:
        device_seen(device=device)
    return device


def _held(job_uuid: str, fence: int) -> QuerySet[Job]:
    return Job.objects.filter(uuid=parse_uuid(job_uuid), state=JobState.LEASED, fence=fence)


def _ended_so(job_uuid: str, fence: int, state: JobState) -> bool:
    return Job.objects.filter(uuid=parse_uuid(job_uuid), state=state, fence=fence).exists()


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.JOB_LEASE_S)


def _check_submission(
    kind: JobKind, revision: Revision, target: Target | None, parameters: dict[str, Any]
) -> None:
    if kind in HUB_JOBS:
        if target or parameters:
            raise Invalid("invalid_target", f"A job {kind.value!r} has no target, no parameters.")
        return
    tuning_s, schedules_s = 6 * settings.TUNE_BUDGET_S, 2 * settings.SCHEDULE_S
    check_search(parameters, longest_s=schedules_s if kind == JobKind.SCHEDULE else tuning_s)
    if target is None or not target.enabled:
        raise Invalid(
            "invalid_target",
            f"Target {target.slug} is switched off." if target else "Tuning needs a target.",
            "Name one of the enabled targets.",
        )
    if graph_of(revision) is None:
        raise NotFound(
            "graph_not_found",
            f"Nothing is known of a network in {revision.mlmodel.full_name}@{revision.oid[:7]}.",
            "Wait until its inspection has succeeded, then ask again.",
        )
