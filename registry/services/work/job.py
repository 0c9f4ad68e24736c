"""The database-backed job queue: submission and cancellation.

Claims and what workers report about them are in :mod:`registry.services.work.attempt`.

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

Each transition is one filtered UPDATE of :data:`~registry.transitions.JOB_TRANSITIONS`, whose row
count decides concurrent ones. Each claim increments the job's fence, and a worker names its fence
in every write: once the claim has ended, the write raises ``lease_lost`` and changes nothing.
"""

from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from registry import dispatch
from registry.errors import Conflict, Forbidden, Invalid, NotFound
from registry.selectors.access import Actor, person, require, require_scope
from registry.selectors.results.graph import graph_of
from registry.selectors.work.job import longest_search_s
from registry.services.audit import audit
from registry.services.work.flow import flow_assign, flow_columns, flow_wake
from registry.services.work.lease import delay_columns, note, transition
from registry.states import HUB_JOBS, JobKind, JobState, Role, Scope
from registry.tables import Job, Revision, Target
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
    after_s: float = 0.0,
) -> Job:
    """Queue a job, or return the open job of the same kind, revision and target.

    An open job that the hub itself submitted, with a lower priority, and that is still queued,
    takes over the actor, the parameters and the priority of this submission. Raises
    ``Unauthenticated`` or ``Forbidden`` if the actor may not write to the model; ``Invalid``
    ``invalid_target``, ``invalid_request``; ``NotFound`` ``graph_not_found`` before inspection.

    Args:
        parameters: For jobs with a target: see :func:`registry.validation.search.check_search`.
        priority: Lower runs first; see :data:`registry.fairshare.LEVELS`.
        after_s: Seconds from now before which no worker claims it.
    """
    require(actor, role=Role.WRITE, namespace=revision.mlmodel.namespace)
    _check_submission(kind, revision, target, parameters or {})
    identity: dict[str, Any] = {"kind": kind, "revision": revision, "target": target}
    for tries_left in reversed(range(_SUBMIT_TRIES)):
        existing = Job.objects.filter(**identity, state__in=_OPEN).first()
        if existing:
            return _promoted(existing, actor, parameters or {}, priority)
        try:
            with transaction.atomic():
                return job_create(
                    actor=actor,
                    **identity,
                    parameters=parameters or {},
                    priority=priority,
                    after_s=after_s,
                )
        except IntegrityError:
            # A concurrent submission won: the next round returns its job, unless that has ended
            # meanwhile. If the revision was deleted, no further try helps.
            if not tries_left:
                raise
    raise AssertionError("the loop above returns or raises")


def job_create(
    *,
    actor: Actor,
    kind: JobKind,
    revision: Revision,
    target: Target | None,
    parameters: dict[str, Any],
    priority: int,
    after_s: float = 0.0,
    secret: str = "",
) -> Job:
    """Queue a new job in the current transaction, for services that have checked the request.

    ``secret`` is a text of :mod:`registry.services.work.secret`, which is erased when the job ends.
    """
    place = flow_columns(
        kind=kind,
        revision=revision,
        target=target,
        person=person(actor),
        parameters=parameters,
        priority=priority,
    )
    job = Job.objects.create(
        kind=kind,
        revision=revision,
        target=target,
        **place,
        parameters=parameters,
        priority=priority,
        secret=secret,
        requested_by=person(actor),
        **delay_columns(after_s),
    )
    _audit(actor, "job.submit", job)
    flow_wake(job)
    if not after_s:
        dispatch.notify(job)
    return job


def _promoted(job: Job, actor: Actor, parameters: dict[str, Any], priority: int) -> Job:
    """An open job; one of the hub's own of lower priority is replaced by the actor's submission."""
    planned = Job.objects.filter(
        pk=job.pk, state=JobState.QUEUED, requested_by=None, priority__gt=priority
    )
    columns = {"parameters": parameters, "priority": priority, "requested_by": person(actor)}
    with transaction.atomic():
        if planned.update(**columns, **delay_columns(0.0)):
            was_delayed = job.not_before is not None
            job.refresh_from_db()
            flow_assign(job)
            _audit(actor, "job.submit", job)
            if was_delayed:
                dispatch.notify(job)
    return job


def job_cancel(*, actor: Actor, job: Job) -> Job:
    """Cancel a job: immediately if it is queued, else when its worker releases it.

    Raises ``Unauthenticated`` or ``Forbidden`` if the actor may not write to the model, or did not
    request the run; ``Conflict`` ``already_ended``, unless it ended by cancellation.
    """
    if job.kind == JobKind.RUN:
        _require_requester(actor, job)
    else:
        require(actor, role=Role.WRITE, namespace=job.revision.mlmodel.namespace)
    rows = Job.objects.filter(pk=job.pk)
    with transaction.atomic():
        # Locked, so that the state cannot change between the conditions below.
        list(rows.select_for_update())
        if transition(rows, JobState.QUEUED, JobState.CANCELLED):
            message = "Cancelled before it began."
        elif rows.filter(state=JobState.LEASED, cancel_requested=False).update(
            cancel_requested=True
        ):
            message = "Cancellation requested."
        elif rows.filter(state__in=[JobState.LEASED, JobState.CANCELLED]).exists():
            message = ""
        else:
            raise Conflict("already_ended", f"Job {job.uuid} has already ended.")
        if message:
            note(job, message)
            _audit(actor, "job.cancel", job)
    job.refresh_from_db()
    return job


def _require_requester(actor: Actor, job: Job) -> None:
    user = require_scope(actor, Scope.WRITE)
    if user is not None and user.pk != job.requested_by_id:
        raise Forbidden("permission_denied", "Only the person who requested a run may cancel it.")


def _audit(actor: Actor, action: str, job: Job) -> None:
    mlmodel = job.revision.mlmodel
    audit(
        actor,
        action,
        f"{mlmodel.full_name}@{job.revision.oid}",
        # Owners of a model may not learn who runs it with which data.
        namespace="" if job.kind == JobKind.RUN else mlmodel.namespace.name,
        detail={
            "job": str(job.uuid),
            "kind": job.kind,
            "target": job.target.slug if job.target else None,
        },
    )


def _check_submission(
    kind: JobKind, revision: Revision, target: Target | None, parameters: dict[str, Any]
) -> None:
    if kind in HUB_JOBS:
        if target or parameters:
            raise Invalid("invalid_target", f"A {kind.value!r} job takes no target or parameters.")
        return
    is_of_schedules = kind == JobKind.SCHEDULE
    longest_s = 2 * settings.SCHEDULE_S if is_of_schedules else longest_search_s()
    check_search(parameters, longest_s=longest_s)
    if target is None or not target.enabled:
        raise Invalid(
            "invalid_target",
            f"Target {target.slug} is disabled."
            if target
            else f"A {kind.value!r} job needs a target.",
            "Choose one of the enabled targets.",
        )
    if graph_of(revision) is None:
        raise NotFound(
            "graph_not_found",
            f"{revision.mlmodel.full_name}@{revision.oid[:7]} has no inspected network.",
            "Wait until its inspection has succeeded, then submit the job again.",
        )
