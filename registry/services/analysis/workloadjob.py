"""Jobs on one operator workload: ablations and cross-applications."""

from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from registry.errors import Forbidden, Invalid
from registry.selectors.access import Actor, memberships, person, require_scope, scope_covers
from registry.selectors.analysis.workloadjob import best_trials_of
from registry.selectors.results.graph import graph_of
from registry.services.storage.quota import quota_check_jobs
from registry.services.work.job import job_create
from registry.services.work.plan import BACKGROUND_PRIORITY
from registry.states import JobKind, JobState, Role, Scope
from registry.tables import Graph, Job, Revision, ScheduleTask, ScheduleUse
from registry.validation.search import check_search

_OPEN = (JobState.QUEUED, JobState.LEASED)
#: Behind searches that people submit: experiments explain a model, they do not make it faster.
_PERSON_PRIORITY = 200
#: Workloads of a network whose schedules are analysed after a search: those with most time.
MOST_WORKLOADS = 3
#: Behind searches for schedules and studies of passes.
ANALYSIS_PRIORITY = BACKGROUND_PRIORITY + 10


def workload_job(
    *,
    actor: Actor,
    kind: JobKind,
    task: ScheduleTask,
    revision: Revision | None = None,
    parameters: dict[str, Any] | None = None,
) -> Job:
    """Queue a job on a workload, or return the open one of this kind.

    Args:
        task: A workload that the actor may read.
        revision: Whose network uses it; by default the newest that the actor may write to.
        parameters: ``budget_s``.

    Raises:
        Unauthenticated, Forbidden: the actor may write to no model that uses the workload;
            ``quota_exceeded`` for too many open jobs.
        Invalid: ``invalid_target``: the target is disabled; ``invalid_request``: no schedule of the
            workload is confirmed, or a parameter is invalid.
    """
    revision = revision or writable_revision(actor, task)
    budget = check_search(parameters or {}, longest_s=6 * (settings.ABLATION_S or 60))
    if not task.target.enabled:
        raise Invalid("invalid_target", f"Target {task.target.slug} is disabled.")
    if not best_trials_of([task.pk]):
        raise Invalid(
            "invalid_request",
            f"No schedule of {task.name} is confirmed on {task.target.slug}.",
            "Wait for a search for schedules of a network that uses it.",
        )
    with transaction.atomic():
        # Locked, so that two requests do not queue two jobs.
        ScheduleTask.objects.select_for_update(of=("self",)).get(pk=task.pk)
        existing = open_job(kind, task)
        if existing is not None:
            return existing
        quota_check_jobs(actor, 1)
        return job_create(
            actor=actor,
            kind=kind,
            revision=revision,
            target=task.target,
            parameters={**budget, "workload": str(task.uuid)},
            priority=ANALYSIS_PRIORITY if person(actor) is None else _PERSON_PRIORITY,
        )


def may_experiment(actor: Actor, task: ScheduleTask) -> bool:
    """Whether ``actor`` may queue jobs on a workload: may write to a model that uses it."""
    user = person(actor)
    if user is None or not scope_covers(user.token, Scope.WRITE):
        return False
    return _revisions(actor, task).exists()


def open_job(kind: JobKind, task: ScheduleTask) -> Job | None:
    """The open job of a kind on a workload."""
    rows = Job.objects.filter(kind=kind, target=task.target_id, state__in=_OPEN)
    return rows.filter(parameters__workload=str(task.uuid)).order_by("id").first()


def writable_revision(actor: Actor, task: ScheduleTask) -> Revision:
    """The newest revision that uses a workload and that the actor may write to.

    Raises ``Unauthenticated``, ``Forbidden``.
    """
    require_scope(actor, Scope.WRITE)
    row = _revisions(actor, task).select_related("mlmodel__namespace").order_by("-id").first()
    if row is None:
        raise Forbidden(
            "permission_denied",
            f"You may write to no model that uses {task.name}.",
            "Ask an owner of such a model.",
        )
    return row


def _revisions(actor: Actor, task: ScheduleTask) -> QuerySet[Revision]:
    hashes = ScheduleUse.objects.filter(task=task).values("graph_hash")
    graphs = Graph.objects.filter(graph_hash__in=hashes, is_primary=True)
    rows = Revision.objects.filter(pk__in=graphs.values("revision"))
    user = person(actor)
    if user is not None:
        may_write = memberships(user).filter(role__in=[Role.WRITE, Role.ADMIN])
        rows = rows.filter(mlmodel__namespace__in=may_write.values("namespace"))
    return rows


def workloads_by_time(job: Job) -> list[ScheduleTask]:
    """The workloads of the job's network on its target with a confirmed schedule, that with the
    largest share of the time first; at most :data:`MOST_WORKLOADS`."""
    graph = graph_of(job.revision)
    if graph is None or job.target is None or not job.target.enabled:
        return []
    uses = ScheduleUse.objects.filter(graph_hash=graph.graph_hash, task__target=job.target)
    calls = dict(uses.values_list("task", "calls"))
    best = best_trials_of(calls)
    times = {pk: calls[pk] * (row.confirmed_s or 0.0) for pk, row in best.items()}
    chosen = sorted(times, key=lambda pk: (-times[pk], pk))[:MOST_WORKLOADS]
    rows = ScheduleTask.objects.select_related("target").in_bulk(chosen)
    return [rows[pk] for pk in chosen]
