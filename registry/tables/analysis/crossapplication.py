"""Table of schedules that were taken over from other targets."""

from django.db import models

from registry.ids import uuid_column
from registry.states import TrialOutcome, Verdict
from registry.tables.results.schedule import ScheduleTask, ScheduleTrial
from registry.tables.work.job import Job


class CrossApplication(models.Model):
    """The best schedule of a workload on another target, measured on this one.

    ``source`` is the best schedule on the other target, ``best`` that on the target of ``task``,
    with which it was timed in turns. The other columns are those of
    :class:`registry.tables.ScheduleAblation`.
    """

    uuid = uuid_column()
    task = models.ForeignKey(ScheduleTask, models.CASCADE, related_name="cross_applications")
    source = models.ForeignKey(ScheduleTrial, models.CASCADE, related_name="applied_elsewhere")
    best = models.ForeignKey(ScheduleTrial, models.CASCADE, related_name="cross_applications")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="cross_applications")
    outcome = models.CharField(max_length=16, choices=TrialOutcome.choices)
    failure_detail = models.TextField(blank=True)
    seconds = models.JSONField(default=list)
    best_seconds = models.JSONField(default=list)
    ratio = models.FloatField(null=True)
    ratio_low = models.FloatField(null=True)
    ratio_high = models.FloatField(null=True)
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    duration_s = models.FloatField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "source"], name="cross_application_source")
        ]
