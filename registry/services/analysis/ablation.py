"""Reverted decisions of schedules: results, and jobs that measure them."""

from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.selectors.access import Actor
from registry.selectors.analysis.workloadjob import best_trials_of
from registry.services.analysis.schedulecomparison import (
    check_comparison,
    compared_trial,
    comparison_columns,
)
from registry.services.analysis.workloadjob import open_job, workload_job, workloads_by_time
from registry.services.work.lease import held_job
from registry.states import JobKind
from registry.tables import Job, ScheduleAblation, ScheduleTask

_COLUMNS = frozenset({"number", "position", "alternative", "reason", "variant"})


def ablation_add(*, job_uuid: str, fence: int, ablation: dict[str, Any]) -> ScheduleAblation:
    """Store a result; adding the same number again returns the stored one. Durable on return.

    ``ablation`` has the columns of :class:`registry.tables.ScheduleAblation`, with ``key`` and
    ``toolchain`` of the job's workload and the ``digest`` of its best schedule. Raises ``Conflict``
    ``lease_lost``; ``Invalid`` ``invalid_request``, naming the columns, also for another workload.
    """
    check_comparison(ablation, _COLUMNS)
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
    ablations = ScheduleAblation.objects.filter(trial__in=[row.pk for row in best.values()])
    ablated_tasks = set(ablations.values_list("task", flat=True))
    return [
        workload_job(actor=None, kind=JobKind.ABLATE, task=task, revision=job.revision)
        for task in tasks
        if task.pk not in ablated_tasks and open_job(JobKind.ABLATE, task) is None
    ]
