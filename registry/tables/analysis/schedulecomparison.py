"""Columns of tables of schedules that were timed in turns with the best one."""

from typing import Final

from django.db import models

from registry.ids import uuid_column
from registry.states import TrialOutcome, Verdict

#: Columns of a comparison that a device measures.
COMPARISON_COLUMNS: Final = (
    "outcome", "failure_detail", "seconds", "best_seconds", "ratio", "ratio_low", "ratio_high",
    "verdict", "duration_s",
)  # fmt: skip


class ScheduleComparison(models.Model):
    """A schedule of a workload, timed in turns with the best one of its target.

    ``seconds`` and ``best_seconds`` are raw times of one call in pairs, one for each round in
    alternating order. ``ratio`` is the time of the schedule over that of the best, with its 95 %
    confidence interval; empty after a failure.
    """

    uuid = uuid_column()
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
        abstract = True
