"""Reproductions: runs of published builds on the test tensors, planned and stored."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry.errors import Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.results.reproduction import toolchain_of, unreproduced
from registry.services.audit import audit
from registry.services.results.best import best_builds_update
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job
from registry.states import JobKind, ReproductionOutcome
from registry.tables import Build, Job, OutboxEntry, Reproduction, Target
from registry.validation.texts import check_json, printable

#: Priority after users' searches and before background jobs, which take minutes: it takes seconds.
_PRIORITY = 250
_LONGEST_DETAIL = 4000


def reproduction_add(
    build: str,
    *,
    job_uuid: str,
    fence: int,
    tools: Mapping[str, str],
    outcome: ReproductionOutcome | str,
    deviation: Mapping[str, float] | None = None,
    detail: str = "",
) -> Reproduction:
    """Store the outcome of running a build again; a second one of the same job has no effect.

    Args:
        build: UUID of a build of the job's network and target.
        tools: Names and versions of the programs that ran it.
        deviation: From the tests' outputs, as in ``Build.deviation``; ``None`` if it did not run.
        detail: Why its outputs differ or it did not run.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``build_not_found``.
        Invalid: ``invalid_request``.
    """
    if outcome not in ReproductionOutcome.values:
        raise Invalid(
            "invalid_request",
            "The outcome of a reproduction is invalid.",
            fields={"outcome": f"must be one of {', '.join(ReproductionOutcome.values)}"},
        )
    columns: dict[str, Any] = check_json({"tools": dict(tools), "deviation": dict(deviation or {})})
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        published = Build.objects.filter(
            uuid=parse_uuid(build), target=job.target, graph__revision=job.revision
        ).first()
        if published is None:
            raise NotFound("build_not_found", f"Job {job_uuid} has no build {build[:64]!r}.")
        row, is_new = Reproduction.objects.get_or_create(
            job=job,
            build=published,
            defaults={
                **columns,
                "toolchain": toolchain_of(tools),
                "outcome": outcome,
                "detail": printable(detail[:_LONGEST_DETAIL]),
            },
        )
        if is_new:
            mlmodel = job.revision.mlmodel
            if best_builds_update(mlmodel, target=job.target):
                OutboxEntry.objects.create(mlmodel_uuid=mlmodel.uuid)
            audit(
                None,
                "reproduction.add",
                f"{mlmodel.full_name}@{job.revision.oid}",
                namespace=mlmodel.namespace.name,
                detail={"job": str(job.uuid), "build": str(published.uuid), "outcome": row.outcome},
            )
        return row


def plan_after_search(*, job_uuid: str) -> Job | None:
    """Queue a reproduction of the builds that a search has published, if there are any."""
    search = Job.objects.select_related("target", "revision__mlmodel__namespace").get(
        uuid=parse_uuid(job_uuid)
    )
    published = Build.objects.filter(
        graph__revision=search.revision, target=search.target, withdrawn_at=None
    )
    if search.target is None or not published.exists():
        return None
    return job_submit(
        actor=None,
        kind=JobKind.REPRODUCE,
        revision=search.revision,
        target=search.target,
        priority=_PRIORITY,
    )


def plan_again(
    *,
    target: Target,
    tools: Mapping[str, Mapping[str, str]],
    below: int | None = None,
    at_once: int | None = None,
) -> list[Job]:
    """Queue reproductions of all builds on ``target`` whose newest one used other tools.

    Called when a device joins, because its packages, driver or Python may have changed.

    Args:
        tools: Names and versions of the programs that run its builds, by backend.
        below: Only revisions with smaller keys.
        at_once: Most revisions, the newest first.
    """
    if not target.enabled:
        return []
    rows = unreproduced(target, tools)
    if below is not None:
        rows = rows.filter(pk__lt=below)
    return [
        job_submit(
            actor=None, kind=JobKind.REPRODUCE, revision=revision, target=target, priority=_PRIORITY
        )
        for revision in rows[:at_once]
    ]
