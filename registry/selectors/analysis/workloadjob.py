"""The operator workload of a job, and the best schedules of workloads."""

from collections.abc import Iterable
from typing import Any

from registry.errors import NotFound
from registry.ids import parse_uuid
from registry.selectors.access import Actor, readable_jobs
from registry.selectors.storage.blob import blob_open
from registry.states import WORKLOAD_JOBS, JobState
from registry.tables import Job, ScheduleTask, ScheduleTrial

_OPEN = (JobState.QUEUED, JobState.LEASED)


def task_of_job(job: Job) -> ScheduleTask:
    """The workload that the parameter ``workload`` of a job names, on the job's target.

    Raises ``NotFound``: ``workload_not_found``.
    """
    named = str(job.parameters.get("workload", ""))
    rows = ScheduleTask.objects.filter(uuid=parse_uuid(named), target=job.target_id)
    task = rows.select_related("source", "target").first()
    if task is None:
        raise NotFound("workload_not_found", f"There is no workload {named[:64]!r} on the target.")
    return task


def workload_of_job(job: Job) -> dict[str, Any]:
    """Columns of the workload of a job; its ``source`` as bytes.

    Raises as :func:`task_of_job`.
    """
    task = task_of_job(job)
    with blob_open(task.source) as source:
        content = source.read()
    names = ("key", "toolchain", "name", "anchor", "arguments", "flops", "features")
    return {**{name: getattr(task, name) for name in names}, "source": content}


def open_experiments(actor: Actor, task: ScheduleTask) -> list[Job]:
    """Readable jobs on a workload that have not ended, oldest first."""
    rows = readable_jobs(actor).filter(
        kind__in=list(WORKLOAD_JOBS), target=task.target_id, state__in=_OPEN
    )
    return list(rows.filter(parameters__workload=str(task.uuid)).order_by("id"))


def best_trials_of(tasks: Iterable[int]) -> dict[int, ScheduleTrial]:
    """Key of a workload to its best schedule, the one confirmed last."""
    rows = ScheduleTrial.objects.filter(task__in=list(tasks), confirmed_at__isnull=False)
    rows = rows.select_related("sketch", "task__target", "job__revision__mlmodel")
    return {row.task_id: row for row in rows.order_by("confirmed_at", "id").defer("trace")}
