"""Schedules that are taken over from other targets: results, and jobs that measure them."""

from typing import Any

from django.db import transaction

from registry.errors import Invalid
from registry.ids import parse_uuid
from registry.selectors.access import Actor
from registry.selectors.analysis.crossapplication import foreign_schedules
from registry.selectors.analysis.workloadjob import best_trials_of
from registry.selectors.work.target import targets_served
from registry.services.analysis.schedulecomparison import (
    check_comparison,
    compared_trial,
    comparison_columns,
)
from registry.services.analysis.workloadjob import (
    open_job,
    workload_job,
    workloads_by_time,
    writable_revision,
)
from registry.services.work.lease import held_job
from registry.states import JobKind
from registry.tables import CrossApplication, Job, ScheduleTask


def cross_application_add(
    *, job_uuid: str, fence: int, application: dict[str, Any]
) -> CrossApplication:
    """Store a result; adding the same source again returns the stored one. Durable on return.

    ``application`` has the columns of :class:`registry.tables.CrossApplication`, with ``key`` and
    ``toolchain`` of the job's workload, the ``digest`` of its best schedule and the UUID of the
    trial on the other target as ``source``. Raises as
    :func:`registry.services.analysis.ablation.ablation_add`.
    """
    check_comparison(application, frozenset({"source"}))
    with transaction.atomic():
        job = held_job(job_uuid=job_uuid, fence=fence)
        best = compared_trial(job, application)
        foreign = {trial.uuid: trial for trial in foreign_schedules(best.task)}
        source = foreign.get(parse_uuid(application["source"]))
        if source is None:
            fields = {"source": "is not the best schedule of another target"}
            raise Invalid("invalid_request", "There is no such schedule.", fields=fields)
        columns = comparison_columns(application)
        row, _ = CrossApplication.objects.get_or_create(
            job=job, source=source, defaults={**columns, "task": best.task, "best": best}
        )
        return row


def cross_submit(
    *, actor: Actor, task: ScheduleTask, parameters: dict[str, Any] | None = None
) -> Job:
    """Queue a cross-application job on the target of a workload.

    Raises ``Invalid`` ``invalid_request`` if no other target has a schedule of it; otherwise as
    :func:`registry.services.analysis.workloadjob.workload_job`.
    """
    revision = writable_revision(actor, task)
    if not foreign_schedules(task):
        raise Invalid(
            "invalid_request",
            f"No other target has a schedule of {task.name}.",
            "Wait for a search on another target.",
        )
    return workload_job(
        actor=actor, kind=JobKind.CROSS, task=task, revision=revision, parameters=parameters
    )


def plan_cross_applications(*, job_uuid: str) -> list[Job]:
    """Queue cross-applications of the workloads with most time of the network whose schedules a
    job searched: on its target, and on the others that are online, of what was not measured yet."""
    job = Job.objects.select_related("target", "revision__mlmodel__namespace").get(uuid=job_uuid)
    # A device without a network, which works from bundles, is never online.
    served = {*targets_served().values_list("pk", flat=True), job.target_id}
    jobs: list[Job] = []
    for task in workloads_by_time(job):
        same = ScheduleTask.objects.filter(
            key=task.key,
            toolchain=task.toolchain,
            target__in=served,
            target__is_emulated=task.target.is_emulated,
        )
        due = [
            each
            for each in same.select_related("target").order_by("target__slug")
            if _is_due(each) and open_job(JobKind.CROSS, each) is None
        ]
        jobs += [
            workload_job(actor=None, kind=JobKind.CROSS, task=each, revision=job.revision)
            for each in due
        ]
    return jobs


def _is_due(task: ScheduleTask) -> bool:
    """Whether a schedule of another target was not compared with the best one of this target."""
    best = best_trials_of([task.pk]).get(task.pk)
    if best is None:
        return False
    foreign = {trial.pk for trial in foreign_schedules(task)}
    applications = CrossApplication.objects.filter(best=best, source__in=foreign)
    return bool(foreign - set(applications.values_list("source", flat=True)))
