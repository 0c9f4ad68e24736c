"""What to tune for: a search per target that somebody serves."""

from collections.abc import Collection
from typing import Any

from django.db import transaction

from registry.errors import Invalid, NotFound
from registry.selectors.access import Actor
from registry.selectors.results.graph import graph_of
from registry.selectors.work.plan import unsearched_heads
from registry.selectors.work.target import target_get, targets_served
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job, target_of
from registry.states import JobKind
from registry.tables import Job, Revision, Target

#: Searches planned for a target that joins; they run after those that people ask for.
_CATCH_UP_PRIORITY = 200
#: Searches with what background work found: before more of that, which may take the whole night.
_FINDINGS_PRIORITY = 280
#: Schedules and passes: behind every search.
BACKGROUND_PRIORITY = 300


def plan(
    *,
    actor: Actor,
    revision: Revision,
    targets: Collection[str] | None = None,
    parameters: dict[str, Any] | None = None,
) -> list[Job]:
    """Queue a search of the revision's network for each target.

    Args:
        targets: Slugs; ``None`` stands for every enabled target with a device online.
        parameters: Given to each job, such as ``{"budget_s": 60}``.

    Raises:
        Unauthenticated, Forbidden: the actor may not write to the model.
        NotFound: ``graph_not_found`` before inspection; ``target_not_found``.
        Invalid: ``invalid_target`` where there is nobody to do the work.
    """
    if graph_of(revision) is None:
        raise NotFound(
            "graph_not_found",
            f"Nothing is known of a network in revision {revision.oid[:10]}.",
            "Wait for its inspection, or add an ONNX or TensorFlow Lite file.",
        )
    chosen = list(targets_served()) if targets is None else [target_get(slug) for slug in targets]
    if not chosen:
        raise Invalid(
            "invalid_target",
            "No enabled target has a device online.",
            "Start a worker on a machine of the target: python -m workers target",
        )
    return [
        job_submit(
            actor=actor,
            kind=JobKind.TUNE,
            revision=revision,
            target=target,
            parameters=parameters or {},
        )
        for target in chosen
    ]


def plan_catch_up(*, target: Target) -> list[Job]:
    """Queue a search for each model's newest revision that was never searched on the target.

    Called when a device joins: what was published before gets its builds too.
    """
    return [
        job_submit(
            actor=None,
            kind=JobKind.TUNE,
            revision=revision,
            target=target,
            priority=_CATCH_UP_PRIORITY,
        )
        for revision in unsearched_heads(target)
    ]


def plan_with_findings(*, job_uuid: str, fence: int) -> Job:
    """Queue a search of the network that a job worked on in the background: it found schedules or
    lists of passes to try.

    Raises:
        Conflict: ``lease_lost``.
    """
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        target = target_of(job)
    return job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=job.revision,
        target=target,
        priority=_FINDINGS_PRIORITY,
    )
