"""Reads of schedules that were taken over from other targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, QuerySet

from registry.selectors.access import Actor, readable_jobs
from registry.selectors.analysis.workloadjob import best_trials_of, task_of_job
from registry.tables import CrossApplication, Job, ScheduleTask, ScheduleTrial
from registry.tables.analysis.schedulecomparison import COMPARISON_COLUMNS


def foreign_schedules(task: ScheduleTask) -> list[ScheduleTrial]:
    """The best schedules of a workload on other targets, by slug.

    Of emulated machines for emulated ones, and of real machines for real ones: what is fast under
    an emulator says nothing about a processor.
    """
    others = ScheduleTask.objects.filter(
        key=task.key, toolchain=task.toolchain, target__is_emulated=task.target.is_emulated
    ).exclude(pk=task.pk)
    best = best_trials_of(others.values_list("pk", flat=True))
    return sorted(best.values(), key=lambda trial: trial.task.target.slug)


def foreign_schedules_count(actor: Actor, task: ScheduleTask) -> int:
    """Number of other targets whose best schedule of a workload ``actor`` may know of."""
    jobs = {trial.job_id for trial in foreign_schedules(task) if trial.job_id is not None}
    return readable_jobs(actor).filter(pk__in=jobs).count()


def foreign_schedules_of_job(job: Job) -> list[dict[str, Any]]:
    """The best schedules of the job's workload on other targets.

    Returns:
        ``{"trial", "target", "sketch", "decisions"}`` each.
    """
    return [
        {
            "trial": str(trial.uuid),
            "target": trial.task.target.slug,
            "sketch": trial.sketch.instructions,
            "decisions": trial.decisions,
        }
        for trial in foreign_schedules(task_of_job(job))
    ]


def cross_applications_of_job(job: Job) -> list[dict[str, Any]]:
    """Stored results of a job; ``digest`` is that of the best schedule on its target, ``source``
    the trial of the other one."""
    rows = CrossApplication.objects.filter(job=job).order_by("id")
    values = rows.values(*COMPARISON_COLUMNS, "source__uuid", digest=F("best__digest"))
    return [{"source": str(row.pop("source__uuid")), **row} for row in values]


def readable_cross_applications(actor: Actor) -> QuerySet[CrossApplication]:
    """The results whose job ``actor`` may read, and also the searches of both schedules."""
    rows = CrossApplication.objects.all()
    if actor is None:
        return rows
    jobs = readable_jobs(actor)
    return rows.filter(job__in=jobs, source__job__in=jobs, best__job__in=jobs)


@dataclass(frozen=True, slots=True)
class CrossMatrix:
    """Best schedules of a workload on targets of one sort, taken over by each other.

    Attributes:
        targets: Slugs, by name.
        cells: Slug of the target a schedule comes from and slug of the one it ran on, to the
            newest result.
    """

    is_emulated: bool
    targets: Sequence[str]
    cells: dict[tuple[str, str], CrossApplication]


def cross_applications_of(actor: Actor, task: ScheduleTask) -> list[CrossApplication]:
    """The newest results of a workload for each pair of targets."""
    return [row for matrix in cross_matrices(actor, task) for row in matrix.cells.values()]


def cross_matrices(actor: Actor, task: ScheduleTask) -> list[CrossMatrix]:
    """The results of a workload on all targets: real machines first, never with emulated ones."""
    rows = readable_cross_applications(actor).filter(
        task__key=task.key, task__toolchain=task.toolchain
    )
    rows = rows.select_related("task__target", "source__task__target", "job").order_by("id")
    matrices: dict[bool, dict[tuple[str, str], CrossApplication]] = {}
    for row in rows:
        target, source = row.task.target, row.source.task.target
        if target.is_emulated == source.is_emulated:
            cells = matrices.setdefault(target.is_emulated, {})
            cells[source.slug, target.slug] = row
    return [
        CrossMatrix(is_emulated, sorted({slug for pair in cells for slug in pair}), cells)
        for is_emulated, cells in sorted(matrices.items())
    ]
