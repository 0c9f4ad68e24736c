"""Plans jobs: the inspection of a new revision, and searches, with one tune job per target."""

from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils import timezone

from hpcfair.formats import has_network
from registry.errors import Invalid, NotFound
from registry.fair.datatable import table_format
from registry.ids import parse_uuid
from registry.selectors.access import Actor
from registry.selectors.repository.contents import marking_paths
from registry.selectors.results.conversion import is_convertible
from registry.selectors.results.graph import graph_of
from registry.selectors.work.target import target_get, targets_served
from registry.services.storage.quota import quota_check_jobs
from registry.services.work.job import job_submit
from registry.services.work.lease import held_job, target_of
from registry.states import JobKind, JobState, RepositoryKind
from registry.tables import Job, Revision

#: Priorities; lower runs first, and submissions by users have 100.
#: Searches that use the results of background jobs: before further background jobs.
_FOLLOW_UP_PRIORITY = 280
#: Repeated measurements of what a search left inconclusive.
_REPETITION_PRIORITY = 290
#: Background jobs, which study schedules and passes: behind every search.
BACKGROUND_PRIORITY = 300
#: Renewals of inspections by older versions of the hub: behind all jobs, and no search follows.
REINSPECTION_PRIORITY = 400
#: Seconds after which an inconclusive search is measured again, first, second and third. Most were
#: short of time, so that the first one follows soon, behind all searches; whatever disturbed the
#: machine has probably ended before the others. No further repetition follows.
REPEAT_AFTER_S = (90.0, 1500.0, 6 * 3600.0)
#: Upper bound on the repetitions that wait for their time on a target: workers pass over them.
MOST_REPETITIONS = 200


def plan_inspection(*, actor: Actor, revision: Revision, paths: Collection[str]) -> None:
    """Queue the inspection of a model's new revision if its files have a network or can be
    converted to one, and the reading of a data set's new revision if they may have tables.

    Called in the transaction that creates the revision and its files, with its MLModel loaded.
    ``paths`` are its :func:`registry.selectors.repository.contents.marking_paths`.
    """
    if revision.mlmodel.kind == RepositoryKind.MODEL:
        if has_network(paths) or is_convertible(revision, paths):
            job_submit(actor=actor, kind=JobKind.INSPECT, revision=revision)
    elif any(map(table_format, paths)):
        job_submit(actor=actor, kind=JobKind.TABLES, revision=revision)


def inspect_again(*, actor: Actor, revision: Revision) -> Job:
    """Queue another inspection of a model's revision, such as after a failed conversion.

    Raises:
        Unauthenticated, Forbidden: the actor may not write to the model; ``quota_exceeded``.
        Invalid: ``not_convertible``: its files have no network, and cannot be converted to one.
    """
    paths = marking_paths(revision, revision.mlmodel.kind)
    if not (has_network(paths) or is_convertible(revision, paths)):
        raise Invalid(
            "not_convertible",
            "Its files have no network, nor a config.json of transformers with safetensors.",
        )
    quota_check_jobs(actor, 1)
    return job_submit(actor=actor, kind=JobKind.INSPECT, revision=revision)


def plan(
    *,
    actor: Actor,
    revision: Revision,
    targets: Collection[str] | None = None,
    parameters: dict[str, Any] | None = None,
) -> list[Job]:
    """Queue a search of a revision's network for each target.

    Args:
        targets: Slugs; ``None`` for all enabled targets with a device online.
        parameters: Of each job, such as ``{"budget_s": 60}``.

    Raises:
        Unauthenticated, Forbidden: the actor may not write to the model; ``quota_exceeded`` for
            too many open jobs of the actor.
        NotFound: ``graph_not_found`` before inspection; ``target_not_found``.
        Invalid: ``invalid_target``: no target is left.
    """
    if graph_of(revision) is None:
        raise NotFound(
            "graph_not_found",
            f"Revision {revision.oid[:10]} has no inspected network.",
            "Wait for its inspection, or add an ONNX or TensorFlow Lite file.",
        )
    selected = list(targets_served()) if targets is None else [target_get(slug) for slug in targets]
    if not selected:
        raise Invalid(
            "invalid_target",
            "No enabled target has a device online.",
            "Start a worker on a machine of the target: python -m workers target",
        )
    quota_check_jobs(actor, len(selected))
    return [
        job_submit(
            actor=actor,
            kind=JobKind.TUNE,
            revision=revision,
            target=target,
            parameters=parameters or {},
        )
        for target in selected
    ]


def plan_repetition(*, job_uuid: str) -> Job | None:
    """Queue another measurement of the candidates that a search left inconclusive.

    The job is one of the hub's own, of low priority, and begins after a pause. A search has at most
    ``len(REPEAT_AFTER_S)`` repetitions, each named by the parameter ``repeats``.

    Returns:
        ``None`` if nothing is inconclusive, if it was repeated often enough, or if too many
        repetitions wait on the target.
    """
    job = Job.objects.select_related("target", "revision__mlmodel__namespace").get(
        uuid=parse_uuid(job_uuid)
    )
    if not job.result.get("inconclusive"):
        return None
    search = job.parameters.get("repeats") or str(job.uuid)
    repetitions = Job.objects.filter(
        revision=job.revision, target=job.target, kind=JobKind.TUNE, parameters__repeats=search
    )
    count = repetitions.count()
    # By the index of notifications, which lies in the future for those that wait.
    waiting = Job.objects.filter(
        target=job.target, state=JobState.QUEUED, notified_at__gt=timezone.now()
    )
    if count >= len(REPEAT_AFTER_S) or waiting[:MOST_REPETITIONS].count() >= MOST_REPETITIONS:
        return None
    search_parameters = {
        name: value for name, value in job.parameters.items() if name in {"budget_s", "seed"}
    }
    return job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=job.revision,
        target=job.target,
        parameters={**search_parameters, "repeats": search},
        priority=_REPETITION_PRIORITY,
        after_s=REPEAT_AFTER_S[count],
    )


def plan_follow_up(*, job_uuid: str, fence: int) -> Job:
    """Queue a search of the network of a background job, to try the schedules or passes it found.

    Raises ``Conflict`` ``lease_lost``.
    """
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        target = target_of(job)
    return job_submit(
        actor=None,
        kind=JobKind.TUNE,
        revision=job.revision,
        target=target,
        priority=_FOLLOW_UP_PRIORITY,
    )
