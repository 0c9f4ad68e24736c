"""Table of reverted decisions of schedules."""

from django.db import models

from registry.ids import sha256_column
from registry.tables.analysis.schedulecomparison import ScheduleComparison
from registry.tables.results.schedule import ScheduleTask, ScheduleTrial
from registry.tables.work.job import Job


class ScheduleAblation(ScheduleComparison):
    """The best schedule of a workload with one decision reverted, measured beside it.

    ``position`` is that of the decision among the decisions of ``trial``, the best schedule at that
    time; -1 for the control, the best schedule beside itself.
    """

    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="ablations")
    trial = models.ForeignKey(ScheduleTrial, models.CASCADE, related_name="ablations")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="ablations")
    number = models.IntegerField()
    position = models.IntegerField()
    # The value in place of the best one, in the compiler's format, and why this one.
    alternative = models.JSONField(null=True)
    reason = models.CharField(max_length=200)
    # Digest of the variant, as of a trial.
    variant = sha256_column()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "number"], name="schedule_ablation_number")
        ]
