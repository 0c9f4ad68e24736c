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

from registry.errors import Invalid
from registry.fair.score.score import SCHEMA
from registry.ids import parse_uuid
from registry.selectors.assessment import due, history, is_assessable, latest, results_of
from registry.selectors.revision import revision_get
from registry.services.audit import audit
from registry.services.job import job_submit
from registry.services.lease import RING_AGAIN_AFTER_S, held_job
from registry.services.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, JobState
from registry.tables import Assessment, Job, MLModel, Revision
from registry.validation.document import check_json

#: Time between two looks at one version, however often it changes.
PAUSE = timedelta(seconds=60)
_AGAIN = "again"
_SUBMIT_TRIES = 5
_REQUIRED: dict[str, type | tuple[type, ...]] = {
    "schema": str,
    "tool": str,
    "subject": str,
    "points": (int, float),
    "of": (int, float),
    "principles": dict,
    "metrics": list,
}


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
        kept = list(history(revision).order_by("-pk")[:2])
        if len(kept) == 2 and all(
            results_of(row.document) == results_of(document) for row in kept
        ):
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


def assess_soon(revision: Revision) -> Job | None:
    """Queue a look at a version that has just changed.

    Returns:
        The job that will see the change; ``None`` where there is nothing for strangers to see: of
        what is private, or replaced by a newer version.
    """
    if not is_assessable(revision):
        return None
    for _ in range(_SUBMIT_TRIES):
        job = job_submit(
            actor=None, kind=JobKind.ASSESS, revision=revision, priority=BACKGROUND_PRIORITY
        )
        rows = Job.objects.filter(pk=job.pk)
        if job.state == JobState.QUEUED:
            _wait(job, revision)
            return job
        # It may have looked already at what changed now. If it is over, the next try queues one.
        if rows.filter(state=JobState.LEASED).update(parameters={_AGAIN: True}):
            return job
    raise AssertionError("jobs end faster than they can be asked for")


def assess_head(mlmodel: MLModel) -> Job | None:
    """:func:`assess_soon` for the newest version of what changed as a whole."""
    return assess_soon(revision_get(mlmodel))


def assess_again(*, job_uuid: str) -> Job | None:
    """Once a look is over: queue another one if something changed meanwhile."""
    job = _job(job_uuid)
    return assess_soon(job.revision) if job is not None and job.parameters.get(_AGAIN) else None


def assess_after(*, job_uuid: str) -> Job | None:
    """Once another job has changed what is known of a version: queue a look at it."""
    job = _job(job_uuid)
    return assess_soon(job.revision) if job is not None else None


def assess_due(*, limit: int) -> list[Job]:
    """Queue looks at versions that nobody looked at yet, then at those seen longest ago.

    Safe to run at any time, by several processes at once.

    Returns:
        At most ``limit`` jobs.
    """
    age = timedelta(days=settings.ASSESS_DAYS) if settings.ASSESS_DAYS else None
    jobs = (assess_soon(revision) for revision in due(limit=limit, age=age))
    return [job for job in jobs if job is not None]


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
    waiting.update(not_before=begin, rung_at=_rung_at(begin))


def _rung_at(begin: datetime) -> datetime:
    """So dated that the reaper rings as soon as the job may begin."""
    return begin - timedelta(seconds=RING_AGAIN_AFTER_S)


def _check(document: dict[str, Any]) -> None:
    fields = {
        name: "is missing or of another type"
        for name, kind in _REQUIRED.items()
        if not isinstance(document.get(name), kind) or isinstance(document[name], bool)
    }
    if not fields:
        if document["schema"] != SCHEMA:
            fields["schema"] = f"must be {SCHEMA}"
        if len(document["tool"]) > 64:
            fields["tool"] = "has more than 64 characters"
        if not 0 <= document["points"] <= document["of"]:
            fields["points"] = "must be between 0 and 'of'"
    if fields:
        raise Invalid("invalid_request", "That is no assessment.", fields=fields)
    check_json(document)
