"""Builds run again on the test tensors: planned, and what came of it kept."""

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from registry.errors import Invalid, NotFound
from registry.ids import parse_uuid
from registry.selectors.results.reproduction import toolchain_of, unreproduced
from registry.services.audit import audit
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job
from registry.states import JobKind, ReproductionOutcome
from registry.tables import Build, Job, Reproduction, Target
from registry.validation.document import check_json, printable

#: Seconds of work: behind every search that people wait for, before studies of minutes.
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
    """Keep what came of running a build again. Adding it again for the same job changes nothing.

    Args:
        build: UUID of a build of the network and target that the job is about.
        tools: Names and versions of what ran it.
        deviation: From the tests' outputs, as columns of ``Build.deviation``, where it ran.
        detail: Why it differs or did not run.

    Raises:
        Conflict: ``lease_lost``; nothing is written.
        NotFound: ``build_not_found``.
        Invalid: ``invalid_request``.
    """
    if outcome not in ReproductionOutcome.values:
        raise Invalid(
            "invalid_request",
            "That is no outcome of running a build again.",
            fields={"outcome": f"must be one of {', '.join(ReproductionOutcome.values)}"},
        )
    columns: dict[str, Any] = check_json({"tools": dict(tools), "deviation": dict(deviation or {})})
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        row = Build.objects.filter(
            uuid=parse_uuid(build), target=job.target, graph__revision=job.revision
        ).first()
        if row is None:
            raise NotFound("build_not_found", f"Job {job_uuid} is about no build {build[:64]!r}.")
        made, is_new = Reproduction.objects.get_or_create(
            job=job,
            build=row,
            defaults={
                **columns,
                "toolchain": toolchain_of(tools),
                "outcome": outcome,
                "detail": printable(detail[:_LONGEST_DETAIL]),
            },
        )
        if is_new:
            mlmodel = job.revision.mlmodel
            audit(
                actor=None,
                action="reproduction.add",
                subject=f"{mlmodel.full_name}@{job.revision.oid}",
                namespace=mlmodel.namespace.name,
                detail={"job": str(job.uuid), "build": str(row.uuid), "outcome": made.outcome},
            )
        return made


def plan_after_search(*, job_uuid: str) -> Job | None:
    """Queue a run of what a search has published on the test tensors.

    Returns:
        The job; ``None`` where nothing of that network is published for the search's target.
    """
    search = Job.objects.select_related("target", "revision__mlmodel__namespace").get(
        uuid=parse_uuid(job_uuid)
    )
    live = Build.objects.filter(
        graph__revision=search.revision, target=search.target, withdrawn_at=None
    )
    if search.target is None or not live.exists():
        return None
    return job_submit(
        actor=None,
        kind=JobKind.REPRODUCE,
        revision=search.revision,
        target=search.target,
        priority=_PRIORITY,
    )


def plan_again(*, target: Target, tools: Mapping[str, Mapping[str, str]]) -> list[Job]:
    """Queue a run of every build on ``target`` that these tools did not run last.

    Called when a device joins: that is when its packages, its driver or its Python may have
    changed.

    Args:
        tools: Backend to names and versions of what runs its builds on the device.
    """
    if not target.enabled:
        return []
    return [
        job_submit(
            actor=None,
            kind=JobKind.REPRODUCE,
            revision=revision,
            target=target,
            priority=_PRIORITY,
        )
        for revision in unreproduced(target, tools)
    ]
