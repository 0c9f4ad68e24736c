"""Table of reverted decisions of schedules."""

from django.db import models

from registry.ids import sha256_column, uuid_column
from registry.states import TrialOutcome, Verdict
from registry.tables.results.schedule import ScheduleTask, ScheduleTrial
from registry.tables.work.job import Job


class ScheduleAblation(models.Model):
    """The best schedule of a workload with one decision reverted, measured beside it.

    ``position`` is that of the decision among the decisions of ``trial``, the best schedule at that
    time; -1 for the control, the best schedule beside itself. ``seconds`` and ``best_seconds`` are
    raw times of one call in pairs, one for each round in alternating order. ``ratio`` is the time
    of the variant over that of the best, with its 95 % confidence interval; empty after a failure.
    """

    uuid = uuid_column()
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
            models.UniqueConstraint(fields=["job", "number"], name="schedule_ablation_number")
        ]
