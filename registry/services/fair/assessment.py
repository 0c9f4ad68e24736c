"""FAIR assessments: queueing of assessment runs, and storage of their results.

A change of a public record queues a run with :func:`assess_soon`; a job executes it
(``workers/jobs/assess.py``), at most once a minute for each version. A change during a run marks
the job, which queues another run when it ends. :func:`assess_due` finds versions that were missed
or assessed long ago: each version stores the time of its next assessment.
"""

from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from registry import schemas
from registry.errors import Invalid
from registry.ids import parse_uuid
from registry.selectors.access import Actor, require
from registry.selectors.fair.assessment import due, history, is_assessable, latest, results_of
from registry.selectors.repository.revision import revision_get
from registry.services.audit import audit
from registry.services.work.job import job_submit
from registry.services.work.lease import NOTIFY_AGAIN_AFTER_S, held_job
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, JobState, Role
from registry.tables import Assessment, Job, MLModel, OutboxEntry, Revision
from registry.validation.texts import check_json

#: Least time between two assessment runs of one version.
PAUSE = timedelta(seconds=60)
#: Time until a run that stored no assessment is repeated.
RETRY = timedelta(hours=1)
# Upper bounds on the versions that one call of assess_due reads, and of one of its queries.
_MOST_READ, _READ_AT_ONCE = 5000, 500
_AGAIN = "again"
_SUBMIT_TRIES = 5


def assessment_add(revision: Revision, document: dict[str, Any]) -> Assessment:
    """Store the result of an assessment run, a document of schema ``hpcfair.fair/1``.

    Of consecutive assessments with equal results only the first and the last are kept. Raises
    ``Invalid`` ``invalid_request`` if the document does not match the schema.
    """
    _check(document)
    with transaction.atomic():
        previous = list(history(revision)[:2])
        result = results_of(document)
        if len(previous) == 2 and all(results_of(row.document) == result for row in previous):
            previous[0].delete()
        row = Assessment.objects.create(
            revision=revision,
            document=document,
            tool=document["tool"],
            points=document["points"],
            most=document["of"],
        )
        Revision.objects.filter(pk=revision.pk).update(assess_at=_next_at())
        if not previous or (previous[0].points, previous[0].most) != (row.points, row.most):
            # The search index has the score.
            OutboxEntry.objects.create(mlmodel_uuid=revision.mlmodel.uuid)
        audit(
            None,
            "assessment.add",
            f"{revision.mlmodel.full_name}@{revision.oid}",
            namespace=revision.mlmodel.namespace.name,
            detail={"points": row.points, "of": row.most},
        )
    return row


def assessment_store(*, job_uuid: str, fence: int, document: dict[str, Any]) -> Assessment:
    """:func:`assessment_add` for the version of a leased job.

    Raises ``Conflict`` ``lease_lost``; nothing is written. Raises ``Invalid`` as
    :func:`assessment_add`.
    """
    with transaction.atomic():
        return assessment_add(held_job(job_uuid=job_uuid, fence=fence).revision, document)


def assess_request(*, actor: Actor, revision: Revision) -> Job:
    """Queue an assessment run of a version, to start as soon as :data:`PAUSE` allows.

    Raises ``Unauthenticated`` or ``Forbidden`` as :func:`registry.selectors.access.require`;
    ``Invalid`` ``invalid_request`` if the version is not assessable.
    """
    require(actor, role=Role.WRITE, namespace=revision.mlmodel.namespace)
    job = _submit(actor, revision)
    if job is None:
        raise Invalid(
            "invalid_request",
            f"Revision {revision.oid[:10]} is private, or a newer one has taken its place.",
            "Choose the newest revision or a tagged one of a public repository.",
        )
    return job


def assess_soon(revision: Revision) -> Job | None:
    """Queue an assessment run of a changed version, in the caller's transaction if there is one.

    Returns the job that will see the change; ``None`` if the version is not assessable, or if the
    hub runs assessments only on request.
    """
    return _submit(None, revision) if settings.ASSESS_DAYS else None


def assess_head(mlmodel: MLModel) -> Job | None:
    """:func:`assess_soon` for the newest version of a changed repository."""
    return assess_soon(revision_get(mlmodel)) if settings.ASSESS_DAYS else None


def assess_again(*, job_uuid: str) -> Job | None:
    """After a run: queue another one if the record changed during the run."""
    job = _job(job_uuid)
    return _submit(None, job.revision) if job is not None and job.parameters.get(_AGAIN) else None


def assess_after(*, job_uuid: str) -> Job | None:
    """After a job of another kind: queue a run, since its results are part of the record."""
    job = _job(job_uuid)
    return assess_soon(job.revision) if job is not None else None


def assess_due(*, limit: int) -> list[Job]:
    """Queue runs of the versions that are due, longest ago first.

    ``limit`` bounds the waiting runs, including those queued before. The work is bounded as well;
    the rest is left to the next call. Safe to run at any time, by several processes at once.
    """
    if not settings.ASSESS_DAYS:
        return []
    waiting = Job.objects.filter(kind=JobKind.ASSESS, state=JobState.QUEUED)[:limit].count()
    room, jobs = limit - waiting, list[Job]()
    for _ in range(0, _MOST_READ, _READ_AT_ONCE):
        waits = due(limit=_READ_AT_ONCE) if len(jobs) < room else None
        if waits is None or not (waits.ready or waits.later or waits.never):
            break
        Revision.objects.filter(pk__in=waits.never).update(assess_at=None)
        Revision.objects.filter(pk__in=waits.later).update(assess_at=_next_at())
        queued = (assess_soon(revision) for revision in waits.ready[: room - len(jobs)])
        jobs += [job for job in queued if job is not None]
    return jobs


def assess_mark(revision: Revision) -> None:
    """Let :func:`assess_due` look at a version that a tag leads to now."""
    Revision.objects.filter(pk=revision.pk).update(assess_at=timezone.now())


def _next_at() -> datetime:
    return timezone.now() + timedelta(days=settings.ASSESS_DAYS)


def _submit(actor: Actor, revision: Revision) -> Job | None:
    """The job whose run will see the version in its current state."""
    if not is_assessable(revision):
        return None
    Revision.objects.filter(pk=revision.pk).update(assess_at=timezone.now() + RETRY)
    for _ in range(_SUBMIT_TRIES):
        job = job_submit(
            actor=actor, kind=JobKind.ASSESS, revision=revision, priority=BACKGROUND_PRIORITY
        )
        if job.state == JobState.QUEUED:
            _wait(job, revision)
            return job
        # The running job may have missed the change; if it has ended, the next try queues another.
        leased = Job.objects.filter(pk=job.pk, state=JobState.LEASED)
        if leased.update(parameters={_AGAIN: True}):
            return job
    raise AssertionError("jobs end faster than they can be asked for")


def _job(job_uuid: str) -> Job | None:
    rows = Job.objects.select_related("revision__mlmodel__namespace")
    return rows.filter(uuid=parse_uuid(job_uuid)).first()


def _wait(job: Job, revision: Revision) -> None:
    """Delay the job until :data:`PAUSE` after the newest assessment."""
    last = latest(revision)
    begin = last.created_at + PAUSE if last is not None else None
    if begin is None or begin <= timezone.now():
        return
    waiting = Job.objects.filter(pk=job.pk, state=JobState.QUEUED, not_before=None)
    waiting.update(not_before=begin, notified_at=_notified_at(begin))


def _notified_at(begin: datetime) -> datetime:
    """Such a date that the reaper notifies workers as soon as the job may begin."""
    return begin - timedelta(seconds=NOTIFY_AGAIN_AFTER_S)


def _check(document: dict[str, Any]) -> None:
    problems = schemas.fair_problems(document)
    if not problems and document["points"] > document["of"]:
        problems = {"$.points": "is more than $.of"}
    if problems:
        raise Invalid("invalid_request", "The document is not an assessment.", fields=problems)
    check_json(document)
