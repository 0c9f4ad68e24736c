"""Reads of reverted decisions of schedules."""

from typing import Any

from django.db.models import F, QuerySet

from registry.selectors.access import Actor, readable_jobs
from registry.tables import Job, ScheduleAblation, ScheduleTask
from registry.tables.analysis.schedulecomparison import COMPARISON_COLUMNS


def ablations_of_job(job: Job) -> list[dict[str, Any]]:
    """Stored results of a job by number; ``digest`` is that of the best schedule."""
    rows = ScheduleAblation.objects.filter(job=job).order_by("number")
    columns = ("number", "position", "alternative", "reason", *COMPARISON_COLUMNS)
    return list(rows.values(*columns, digest=F("trial__digest")))


def readable_ablations(actor: Actor) -> QuerySet[ScheduleAblation]:
    """The ablations whose job ``actor`` may read, and also the search of their schedule."""
    rows = ScheduleAblation.objects.all()
    if actor is None:
        return rows
    jobs = readable_jobs(actor)
    return rows.filter(job__in=jobs, trial__job__in=jobs)


def ablations_of(actor: Actor, task: ScheduleTask) -> list[ScheduleAblation]:
    """The newest ablation of a workload that ``actor`` may read, the control first.

    Only rows of one job and one schedule: ratios to different schedules are not comparable.
    """
    rows = readable_ablations(actor).filter(task=task)
    newest = rows.order_by("-id").first()
    if newest is None:
        return []
    same = rows.filter(job=newest.job_id, trial=newest.trial_id)
    return list(same.select_related("trial__sketch", "job__device").order_by("number"))
