"""Table of schedules that were taken over from other targets."""

from django.db import models

from registry.tables.analysis.schedulecomparison import ScheduleComparison
from registry.tables.results.schedule import ScheduleTask, ScheduleTrial
from registry.tables.work.job import Job


class CrossApplication(ScheduleComparison):
    """The best schedule of a workload on another target, measured on this one.

    ``source`` is the best schedule on the other target, ``best`` that on the target of ``task``,
    with which it was timed in turns.
    """

    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="cross_applications")
    source = models.ForeignKey(ScheduleTrial, models.CASCADE, related_name="applied_elsewhere")
    best = models.ForeignKey(ScheduleTrial, models.CASCADE, related_name="cross_applications")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="cross_applications")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "source"], name="cross_application_source")
        ]
