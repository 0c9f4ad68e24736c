"""Reverted decisions of schedules: results, and jobs that measure them."""

from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.selectors.access import Actor
from registry.selectors.analysis.jobworkload import best_trials_of, task_of_job
from registry.selectors.results.graph import graph_of
from registry.services.analysis.workloadjob import open_job, workload_job
from registry.services.results.columns import check_columns
from registry.services.work.lease import held_job
from registry.states import JobKind, TrialOutcome, Verdict
from registry.tables import Job, ScheduleAblation, ScheduleTask, ScheduleTrial, ScheduleUse
from registry.validation.texts import printable

#: Workloads of a network whose schedules are analysed after a search: those with most time.
MOST_WORKLOADS = 3

COMPARED = frozenset({"key", "toolchain", "digest", "outcome", "verdict", "duration_s"})
COMPARED_OPTIONAL = frozenset(
    {"failure_detail", "seconds", "best_seconds", "ratio", "ratio_low", "ratio_high"}
)
CHOICES = {"outcome": TrialOutcome.values, "verdict": Verdict.values}
_REQUIRED = COMPARED | {"number", "position", "alternative", "reason", "variant"}


def ablation_add(*, job_uuid: str, fence: int, ablation: dict[str, Any]) -> ScheduleAblation:
    """Store a result; adding the same number again returns the stored one. Durable on return.

    ``ablation`` has the columns of :class:`registry.tables.ScheduleAblation`, with ``key`` and
    ``toolchain`` of the job's workload and the ``digest`` of its best schedule. Raises ``Conflict``
    ``lease_lost``; ``Invalid`` ``invalid_request``, naming the columns, also for another workload.
    """
    check_columns(ablation, _REQUIRED, COMPARED_OPTIONAL, CHOICES)
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        trial = compared_trial(job, ablation)
        if not -1 <= ablation["position"] < len(trial.decisions):
            fields = {"position": "is not that of a decision"}
            raise Invalid("invalid_request", "There is no such decision.", fields=fields)
        row, _ = ScheduleAblation.objects.get_or_create(
            job=job,
            number=ablation["number"],
            defaults={**comparison_columns(ablation), "task": trial.task, "trial": trial},
        )
        return row


def compared_trial(job: Job, columns: dict[str, Any]) -> ScheduleTrial:
    """The best schedule that a comparison names, of the job's workload.

    Raises ``Invalid`` ``invalid_request``; ``NotFound`` ``workload_not_found``.
    """
    task = task_of_job(job)
    if (task.key, task.toolchain) != (columns["key"], columns["toolchain"]):
        raise Invalid("invalid_request", "This is not the workload of the job.")
    confirmed = task.trials.filter(digest=columns["digest"], confirmed_at__isnull=False)
    trial = confirmed.order_by("confirmed_at", "id").last()
    if trial is None:
        detail = f"Schedule {columns['digest'][:10]} is not confirmed."
        raise Invalid("invalid_request", detail)
    return trial


def comparison_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns of a row, without those that identify the workload."""
    rest = {
        name: value
        for name, value in columns.items()
        if name not in {"key", "toolchain", "digest", "source"}
    }
    return rest | {"failure_detail": printable(columns.get("failure_detail", ""))}


def ablation_submit(
    *, actor: Actor, task: ScheduleTask, parameters: dict[str, Any] | None = None
) -> Job:
    """Queue an ablation of the best schedule of a workload; raises as
    :func:`registry.services.analysis.workloadjob.workload_job`."""
    return workload_job(actor=actor, kind=JobKind.ABLATE, task=task, parameters=parameters)


def plan_ablations(*, job_uuid: str) -> list[Job]:
    """Queue ablations of the workloads with most time of the network whose schedules a job
    searched, unless their best schedules were ablated before."""
    job = Job.objects.select_related("target", "revision__mlmodel__namespace").get(uuid=job_uuid)
    tasks = workloads_by_time(job)
    best = best_trials_of(task.pk for task in tasks)
    ablated = ScheduleAblation.objects.filter(trial__in=[row.pk for row in best.values()])
    done = set(ablated.values_list("task", flat=True))
    return [
        workload_job(actor=None, kind=JobKind.ABLATE, task=task, revision=job.revision)
        for task in tasks
        if task.pk not in done and open_job(JobKind.ABLATE, task) is None
    ]


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
