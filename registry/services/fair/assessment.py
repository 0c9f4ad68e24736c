"""Looks at records from outside: asked for, and kept.

Whatever changes a public record asks for a look by :func:`assess_soon`; a job does it
(``workers/jobs/assess.py``), at most one a minute for each version. A change while a job looks is
noted on its row, and the job asks anew when it is done. What was forgotten, and what was looked at
long ago, :func:`assess_due` finds.
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
from registry.tables import Assessment, Job, MLModel, Revision
from registry.validation.document import check_json

#: Time between two looks at one version, however often it changes.
PAUSE = timedelta(seconds=60)
_AGAIN = "again"
_SUBMIT_TRIES = 5


def assessment_add(revision: Revision, document: dict[str, Any]) -> Assessment:
    """Keep what was found.

    Of several equal findings in a row the first and the last are kept: what lies between them says
    nothing.

    Args:
        document: Of schema ``hpcfair.fair/1``, as
            :meth:`registry.fair.score.score.Score.as_dict` writes it.

    Raises:
        Invalid: ``invalid_request``: it is not one.
    """
    _check(document)
    with transaction.atomic():
        kept = list(history(revision)[:2])
        found = results_of(document)
        if len(kept) == 2 and all(results_of(row.document) == found for row in kept):
            kept[0].delete()
        row = Assessment.objects.create(
            revision=revision,
            document=document,
            tool=document["tool"],
            points=document["points"],
            most=document["of"],
        )
        audit(
            actor=None,
            action="assessment.add",
            subject=f"{revision.mlmodel.full_name}@{revision.oid}",
            namespace=revision.mlmodel.namespace.name,
            detail={"points": row.points, "of": row.most},
        )
    return row


def assessment_store(*, job_uuid: str, fence: int, document: dict[str, Any]) -> Assessment:
    """The same for the version of a held job.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        Invalid: as above.
    """
    with transaction.atomic():
        return assessment_add(held_job(job_uuid=job_uuid, fence=fence).revision, document)


def assess_request(*, actor: Actor, revision: Revision) -> Job:
    """Ask for a look at a version now, or as soon as :data:`PAUSE` allows.

    Raises:
        Unauthenticated, Forbidden: see :func:`registry.selectors.access.require`.
        Invalid: ``invalid_request``: strangers are not led to that version.
    """
    require(actor, role=Role.WRITE, namespace=revision.mlmodel.namespace)
    job = _submit(actor, revision)
    if job is None:
        raise Invalid(
            "invalid_request",
            f"Revision {revision.oid[:10]} is private, or a newer one has taken its place.",
            "Ask for the newest revision, or one with a tag, of something public.",
        )
    return job


def assess_soon(revision: Revision) -> Job | None:
    """Queue a look at a version that has just changed, in the caller's transaction if there is one.

    Returns:
        The job that will see the change; ``None`` where there is nothing for strangers to see (of
        what is private, or replaced by a newer version), or the hub looks only when asked.
    """
    return _submit(None, revision) if settings.ASSESS_DAYS else None


def assess_head(mlmodel: MLModel) -> Job | None:
    """:func:`assess_soon` for the newest version of what changed as a whole."""
    return assess_soon(revision_get(mlmodel)) if settings.ASSESS_DAYS else None


def assess_again(*, job_uuid: str) -> Job | None:
    """Once a look is over: queue another one if something changed meanwhile."""
    job = _job(job_uuid)
    return _submit(None, job.revision) if job is not None and job.parameters.get(_AGAIN) else None


def assess_after(*, job_uuid: str) -> Job | None:
    """Once another job has changed what is known of a version: queue a look at it."""
    job = _job(job_uuid)
    return assess_soon(job.revision) if job is not None else None


def assess_due(*, limit: int) -> list[Job]:
    """Queue looks at versions that nobody looked at yet, then at those seen longest ago.

    Safe to run at any time, by several processes at once.

    Args:
        limit: As many looks wait at most, those that wait already included.
    """
    if not settings.ASSESS_DAYS:
        return []
    waiting = Job.objects.filter(kind=JobKind.ASSESS, state=JobState.QUEUED).count()
    revisions = due(limit=max(0, limit - waiting), age=timedelta(days=settings.ASSESS_DAYS))
    jobs = (assess_soon(revision) for revision in revisions)
    return [job for job in jobs if job is not None]


def _submit(actor: Actor, revision: Revision) -> Job | None:
    """The job that will see the version as it is now."""
    if not is_assessable(revision):
        return None
    for _ in range(_SUBMIT_TRIES):
        job = job_submit(
            actor=actor, kind=JobKind.ASSESS, revision=revision, priority=BACKGROUND_PRIORITY
        )
        if job.state == JobState.QUEUED:
            _wait(job, revision)
            return job
        # It may have looked already at what changed now. If it is over, the next try queues one.
        leased = Job.objects.filter(pk=job.pk, state=JobState.LEASED)
        if leased.update(parameters={_AGAIN: True}):
            return job
    raise AssertionError("jobs end faster than they can be asked for")


def _job(job_uuid: str) -> Job | None:
    rows = Job.objects.select_related("revision__mlmodel__namespace")
    return rows.filter(uuid=parse_uuid(job_uuid)).first()


def _wait(job: Job, revision: Revision) -> None:
    """Let the job begin no sooner than :data:`PAUSE` after the last look."""
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
        problems = {"$.points": "is more than there are"}
    if problems:
        raise Invalid("invalid_request", "That is no assessment.", fields=problems)
    check_json(document)
